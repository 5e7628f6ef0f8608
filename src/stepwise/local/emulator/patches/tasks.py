"""Task states.

1. `TaskScheduled` has the task's `parameters`, so a search of the history for secrets covers what AWS would show.
2. Each attempt has a separate token.
3. A timeout is a `TaskTimedOut` event, and the `...Path` forms of both timeouts work.
4. `States.ALL` and `States.TaskFailed` do not match `States.DataLimitExceeded`; nothing matches `States.Runtime`.
5. A test case of `SFN_MOCK_CONFIG` gives each attempt its own response, as Step Functions Local does.
6. The events of a task name its integration as AWS does: `resourceType` sns and `resource` publish.

MiniStack reuses a token, lets `States.ALL` match every error, and throws a mocked error again at every retry. It names
the state's whole `Resource` in the events.
"""

import json
import threading
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from .callbacks import HEARTBEAT, called_back
from .groups import number
from .limits import DATA_LIMIT
from .scopes import current

type Execution = dict[str, Any]
type State = dict[str, Any]

_TIMEOUTS = {"States.Timeout", HEARTBEAT}
_MAX_RETRY_PAUSE = 60


_counting = threading.Lock()


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services import stepfunctions

    stepfunctions._execute_task = _execute_task
    stepfunctions._error_matches = _matching(stepfunctions._error_matches)


def _matching(matches: Callable[[list[str], str], bool]) -> Callable[[list[str], str], bool]:
    def error_matches(names: list[str], error: str) -> bool:
        if error in {DATA_LIMIT, "States.Runtime"}:
            return error == DATA_LIMIT and error in names
        return matches(names, error) or (error == HEARTBEAT and "States.Timeout" in names)

    return error_matches


def _execute_task(state: State, given: Any, execution: Execution, context: Any) -> tuple[Any, str | None]:
    from ministack.services import stepfunctions

    counts: dict[int, int] = {}
    while True:
        context["State"]["RetryCount"] = sum(counts.values())
        try:
            return _try(state, given, execution, context)
        except stepfunctions._ExecutionError as error:
            retrier, index = stepfunctions._find_matching_retrier(state.get("Retry", []), error.error, counts)
            if retrier is None:
                return _caught(state, given, context, error)
            pause = retrier.get("IntervalSeconds", 1) * retrier.get("BackoffRate", 2.0) ** counts.get(index, 0)
            counts[index] = counts.get(index, 0) + 1
            stepfunctions._scaled_sleep(min(pause, retrier.get("MaxDelaySeconds", _MAX_RETRY_PAUSE), _MAX_RETRY_PAUSE))


def _caught(state: State, given: Any, context: Any, error: Any) -> tuple[Any, str]:
    from ministack.services import stepfunctions

    catcher = stepfunctions._find_matching_catcher(state.get("Catch", []), error.error)
    if catcher is None:
        raise error
    language = stepfunctions._state_query_language(state, context)
    output = {"Error": error.error, "Cause": error.cause}
    return stepfunctions._apply_catcher(catcher, given, context, language, output), catcher["Next"]


def _try(state: State, given: Any, execution: Execution, context: Any) -> tuple[Any, str | None]:
    from ministack.services import stepfunctions as sf

    resource, jsonata = state["Resource"], sf._state_query_language(state, context) == "JSONata"
    if ".waitForTaskToken" in resource:
        context["Task"] = {"Token": str(uuid.uuid4())}
    if jsonata:
        parameters = sf._apply_jsonata_arguments(state, given, context)
    else:
        parameters = sf._apply_parameters(state, sf._apply_input_path(state, given, context), context)
    kind = _kind(resource)
    scheduled = {**kind, "parameters": json.dumps(parameters)}
    sf._add_event(execution, "TaskScheduled", {"taskScheduledEventDetails": scheduled})
    try:
        result = _result(state, parameters, given, execution, context)
    except sf._ExecutionError as error:
        event = "TaskTimedOut" if error.error in _TIMEOUTS else "TaskFailed"
        details = {"error": error.error, "cause": error.cause, **kind}
        sf._add_event(execution, event, {f"{event[0].lower()}{event[1:]}EventDetails": details})
        raise
    details = {"output": json.dumps(result), **kind}
    sf._add_event(execution, "TaskSucceeded", {"taskSucceededEventDetails": details})
    if jsonata:
        output = sf._apply_jsonata_output(state, given, context, result=result, default=result)
        sf._apply_state_assign(state, given, context, result=result)
    else:
        output = sf._apply_result_path(state, given, sf._apply_result_selector(state, result))
        output = sf._apply_output_path(state, output, context)
    return output, sf._next_or_end(state)


def _kind(resource: str) -> dict[str, str]:
    """Return the members of a task's events that name its integration: sns and publish for `sns:publish`."""
    _, integrated, action = resource.partition(":states:::")
    if not integrated:
        return {"resourceType": "lambda" if ":lambda:" in resource else "activity", "resource": resource}
    operation = action.removeprefix("aws-sdk:").partition(":")[2]
    return {"resourceType": action.removesuffix(f":{operation}"), "resource": operation}


def _result(state: State, parameters: Any, given: Any, execution: Execution, context: Any) -> Any:
    """Return the task's result. Raises MiniStack's _ExecutionError, and ScopeEnded while it runs on."""
    from ministack.services import stepfunctions

    mock = _mocked(execution, context)
    if mock is not None:
        if "Throw" in mock:
            raise stepfunctions._ExecutionError(mock["Throw"]["Error"], mock["Throw"].get("Cause", ""))
        return mock["Return"]
    resource = state["Resource"]
    if ":activity:" in resource:
        # Timeouts of an activity, which begin when a worker takes the task, are not emulated.
        token = str(uuid.uuid4())
        return called_back(lambda: _offer(resource, parameters, token), token, None, None)
    seconds = number(state, "TimeoutSeconds", given, given, context)
    if ".waitForTaskToken" in resource:
        heartbeat = number(state, "HeartbeatSeconds", given, given, context)
        service = resource.replace(".waitForTaskToken", "")
        send = partial(stepfunctions._invoke_resource, service, parameters)
        return called_back(send, context["Task"]["Token"], seconds, heartbeat)
    try:
        return current().result(stepfunctions._invoke_resource, resource, parameters, seconds=seconds)
    except TimeoutError:
        raise stepfunctions._ExecutionError("States.Timeout", f"Task timed out after {seconds} seconds") from None


def _offer(activity: str, parameters: Any, token: str) -> None:
    from ministack.services import stepfunctions

    if activity not in stepfunctions._activities:
        raise stepfunctions._ExecutionError("ActivityDoesNotExist", f"Activity {activity} not found")
    stepfunctions._activity_tasks[activity].append({"taskToken": token, "input": json.dumps(parameters)})


def _mocked(execution: Execution, context: Any) -> dict[str, Any] | None:
    """Return the response to the state's next attempt in this execution; None if it is not mocked."""
    from ministack.services import stepfunctions

    case, state = execution.get("testCase", ""), context["State"]["Name"]
    if not case:
        return None
    with _counting:
        attempt = execution["mockAttempts"].get(state, 0)
        response: dict[str, Any] | None = stepfunctions._get_mock_response(
            context["StateMachine"]["Name"], case, state, attempt
        )
        if response is not None:
            execution["mockAttempts"][state] = attempt + 1
    return response
