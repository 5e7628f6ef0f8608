"""Failures of functions, and their calls by EventBridge.

1. A function's exception has its class name, where MiniStack says `Runtime.HandlerError`, and its worker lives on,
   where MiniStack replaces it.
2. A crashed worker is `Runtime.ExitError` for the call that it served, and affects no other worker.
3. A call over the account's concurrency reaches a state machine as `Lambda.TooManyRequestsException`, where MiniStack
   says `Lambda.Unknown`.
4. EventBridge invokes a function asynchronously: the event waits while Lambda throttles, is retried, and goes to the
   failure destination. MiniStack drops it at the first failure.

HTTP on the loopback counts as secure transport (`aws:SecureTransport`), so bucket policies need no exception.
"""

import contextvars
import json
import random
import time
from collections.abc import Callable
from typing import Any

# True if EventBridge invoked the function asynchronously.
_queued = contextvars.ContextVar("queued", default=False)

_MARKER = "__function_error__"
_MINISTACK_ANSWER = '{"status": "error", "error": str(e), "trace": traceback.format_exc()}'
_INIT_FAILED = "Worker init failed"
_OUR_ANSWER = (
    '{"status": "ok", "result": {"' + _MARKER + '": {"errorMessage": str(e), "errorType": type(e).__name__, '
    '"requestId": context.aws_request_id, "stackTrace": traceback.format_tb(e.__traceback__)}}}'
)


def apply() -> None:
    """Patch the loaded MiniStack modules. Raises RuntimeError if the code to change is missing."""
    from ministack import app
    from ministack.core import lambda_runtime
    from ministack.services import eventbridge, lambda_svc

    script = lambda_runtime._PYTHON_WORKER_SCRIPT
    if script.count(_MINISTACK_ANSWER) != 1:
        raise RuntimeError("this MiniStack reports exceptions differently; check whether the patch is still needed")
    lambda_runtime._PYTHON_WORKER_SCRIPT = script.replace(_MINISTACK_ANSWER, _OUR_ANSWER)
    lambda_runtime.Worker.invoke = _dying_alone(lambda_runtime.Worker.invoke)
    lambda_svc._execute_function_warm = _naming_errors(lambda_svc._execute_function_warm)
    lambda_svc._throttle_response = _naming_throttles(lambda_svc._throttle_response)
    lambda_svc._execute_function = _waiting_its_turn(lambda_svc._execute_function)
    eventbridge._dispatch_to_lambda = _dispatch_to_lambda
    app.pin_request_origin = _as_if_encrypted(app.pin_request_origin)


def _naming_errors(execute: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def execute_function_warm(func: Any, event: Any, request_id: str) -> dict[str, Any]:
        result = execute(func, event, request_id)
        body = result.get("body")
        if isinstance(body, dict) and _MARKER in body:
            error = body[_MARKER]
            log = "".join([result.get("log", ""), "\n", *error["stackTrace"], error["errorType"]])
            return {"body": error, "error": True, "log": log}
        # The function's own errors have the marker, so this is a crashed worker.
        if isinstance(body, dict) and result.get("error") and body.get("errorType") == "Runtime.HandlerError":
            return {**result, "body": {**body, "errorType": "Runtime.ExitError"}}
        return result

    return execute_function_warm


def _dying_alone(invoke: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def invoke_on_worker(worker: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return invoke(worker, *args, **kwargs)
        except Exception as error:
            worker.kill()
            if str(error).startswith(_INIT_FAILED):
                raise
            # It crashed during startup or between calls; the next call starts another.
            return {"status": "error", "error": "Worker process died"}

    return invoke_on_worker


def _naming_throttles(respond: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def throttle_response(*args: Any, **kwargs: Any) -> dict[str, Any]:
        result = respond(*args, **kwargs)
        result["body"]["errorType"] = "Lambda.TooManyRequestsException"
        return result

    return throttle_response


def _as_if_encrypted(pin: Callable[[str, bool], None]) -> Callable[[str, bool], None]:
    return lambda source_ip, _: pin(source_ip, True)


def _record(arn: str) -> Any:
    """Return MiniStack's current record of a function; None if there is none."""
    from ministack.services import lambda_svc

    function, config, _ = lambda_svc._get_func_record_for_ref(arn)
    return lambda_svc._execution_record_for_config(function, config) if function and config else None


def _updated(function: Any) -> Any:
    """Return the record to execute: the current one for an event that waited, perhaps through an update."""
    return (_queued.get() and _record(function["config"]["FunctionArn"])) or function


def _dispatch_to_lambda(arn: str, payload: str) -> None:
    from ministack.services import lambda_svc

    record = _record(arn)
    if record:
        context = contextvars.copy_context()
        context.run(_queued.set, True)
        context.run(lambda_svc.invoke_async_with_retry, record, json.loads(payload))


def _waiting_its_turn(execute: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def execute_function(function: Any, event: Any) -> dict[str, Any]:
        result = execute(_updated(function), event)
        while _queued.get() and result.get("throttle"):
            time.sleep(random.uniform(0.1, 0.5))  # noqa: S311 # nosec B311 # a pause is no secret
            result = execute(_updated(function), event)
        return result

    return execute_function
