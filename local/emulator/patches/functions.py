"""How functions fail, and how EventBridge calls them.

1. An exception of a function arrives under its class name, as on AWS, where MiniStack says `Runtime.HandlerError`; and
   the worker lives on, where MiniStack starts another one.
2. A worker that died is `Runtime.ExitError` to the call that it served, and takes no other worker along.
3. A call over the account's concurrency reaches a state machine as `Lambda.TooManyRequestsException`, where MiniStack
   says `Lambda.Unknown`.
4. An event of EventBridge reaches a function by Lambda's asynchronous path: it waits while the account is at its
   concurrency, is retried, and ends at the function's failure destination. MiniStack drops it at the first failure.

Besides, what reaches the loopback address counts as encrypted (`aws:SecureTransport`), so that bucket policies which
ask for it stay as they are.
"""

import contextvars
import json
import random
import time
from collections.abc import Callable
from typing import Any

# Whether the invocation at hand came by the asynchronous path of EventBridge.
_queued = contextvars.ContextVar("queued", default=False)

_MARKER = "__function_error__"
_MINISTACK_ANSWER = '{"status": "error", "error": str(e), "trace": traceback.format_exc()}'
_INIT_FAILED = "Worker init failed"
_OUR_ANSWER = (
    '{"status": "ok", "result": {"' + _MARKER + '": {"errorMessage": str(e), "errorType": type(e).__name__, '
    '"requestId": context.aws_request_id, "stackTrace": traceback.format_tb(e.__traceback__)}}}'
)


def apply() -> None:
    """Change the loaded MiniStack modules. Raises RuntimeError if the code to change is not there."""
    from ministack import app
    from ministack.core import lambda_runtime
    from ministack.services import eventbridge, lambda_svc

    script = lambda_runtime._PYTHON_WORKER_SCRIPT
    if script.count(_MINISTACK_ANSWER) != 1:
        raise RuntimeError("this MiniStack answers exceptions in another way; see whether the fix is still needed")
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
        # The function's own errors have the marker, so this is MiniStack's word for a worker that is gone.
        if isinstance(body, dict) and result.get("error") and body.get("errorType") == "Runtime.HandlerError":
            return {**result, "body": {**body, "errorType": "Runtime.ExitError"}}
        return result

    return execute_function_warm


def _dying_alone(invoke: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def invoke_on_worker(worker: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return invoke(worker, *args, **kwargs)
        except Exception as error:
            if str(error).startswith(_INIT_FAILED):
                raise
            # It died while it started, or in between; the next call starts another in its place.
            worker.kill()
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
    """MiniStack's record of a function, as it is now; None if there is none."""
    from ministack.services import lambda_svc

    function, config, _ = lambda_svc._get_func_record_for_ref(arn)
    return lambda_svc._execution_record_for_config(function, config) if function and config else None


def _dispatch_to_lambda(arn: str, payload: str) -> None:
    from ministack.services import lambda_svc

    record = _record(arn)
    if record:
        context = contextvars.copy_context()
        context.run(_queued.set, True)
        context.run(lambda_svc.invoke_async_with_retry, record, json.loads(payload))


def _waiting_its_turn(execute: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def execute_function(function: Any, event: Any) -> dict[str, Any]:
        result = execute(function, event)
        while _queued.get() and result.get("throttle"):
            time.sleep(random.uniform(0.1, 0.5))  # noqa: S311 # nosec B311 # a pause is no secret
            result = execute(_record(function["config"]["FunctionArn"]) or function, event)
        return result

    return execute_function
