"""A gap of MiniStack 1.5.33, closed from outside: a test case of `SFN_MOCK_CONFIG` gives each try of a task its own
response, as Step Functions Local does.

MiniStack takes one response at each entry into a state, throws it again at every retry, and passes over the state's
Parameters and the events of its task.
"""

import contextvars
import threading
from collections.abc import Callable
from typing import Any

type Execution = dict[str, Any]
type State = dict[str, Any]
type Find = Callable[[str, str, str, int], dict[str, Any] | None]

_task: contextvars.ContextVar[tuple[Execution, Any]] = contextvars.ContextVar("task")
_counting = threading.Lock()


def close_gap() -> None:
    """Change the loaded MiniStack module."""
    from ministack.services import stepfunctions

    find = stepfunctions._get_mock_response
    stepfunctions._get_mock_response = lambda *_: None
    stepfunctions._execute_task = _noting(stepfunctions._execute_task)
    # Every task here has a TimeoutSeconds, so that this is the only way to a resource.
    stepfunctions._invoke_resource_with_timeout = _answering(stepfunctions._invoke_resource_with_timeout, find)


def _noting(execute: Callable[..., Any]) -> Callable[..., Any]:
    def execute_task(state: State, raw_input: Any, execution: Execution, context: Any) -> Any:
        _task.set((execution, context))
        return execute(state, raw_input, execution, context)

    return execute_task


def _answering(invoke: Callable[..., Any], find: Find) -> Callable[..., Any]:
    def invoke_resource_with_timeout(resource: str, given: Any, timeout: float) -> Any:
        from ministack.services import stepfunctions

        response = _next(find, *_task.get())
        if response is None:
            return invoke(resource, given, timeout)
        if "Throw" in response:
            raise stepfunctions._ExecutionError(response["Throw"]["Error"], response["Throw"].get("Cause", ""))
        return response["Return"]

    return invoke_resource_with_timeout


def _next(find: Find, execution: Execution, context: Any) -> dict[str, Any] | None:
    """What the state's next try in this execution is answered; None if it is not mocked."""
    case, state = execution.get("testCase", ""), context["State"]["Name"]
    with _counting:
        attempt = execution["mockAttempts"].get(state, 0) if case else 0
        response = find(context["StateMachine"]["Name"], case, state, attempt)
        if response is not None:
            execution["mockAttempts"][state] = attempt + 1
    return response
