"""The walk of an execution through its states.

1. The states inside a Map or a Parallel state are in the history, and the iterations of a Map.
2. A failed intrinsic function is `States.IntrinsicFailure`.
"""

import copy
import json
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from .scopes import ScopeEnded, current

type Execution = dict[str, Any]
type State = dict[str, Any]


@dataclass
class Frame:
    """Position of a sequence of states. name: the state to enter next, with this data; None at the end.

    inner: positions of the running state's branches or iterations, by their index.
    """

    name: str | None
    data: Any
    inner: dict[int, "Frame"] = field(default_factory=dict)


_frame: ContextVar[Frame] = ContextVar("frame")


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services import stepfunctions

    stepfunctions._run_sub_machine = run_inside
    stepfunctions._evaluate_intrinsic = _naming_failures(stepfunctions._evaluate_intrinsic)


def frame() -> Frame:
    """Return the position of the sequence with the running state."""
    return _frame.get()


def run_inside(
    states: dict[str, State], start_at: str, given: Any, execution: Execution, context: Any, index: int | None = None
) -> Any:
    """Run the states of one iteration of a Map, or of one branch, from where they stopped, or from the first.

    index: among its siblings; the iteration's own by default.
    """
    from ministack.services import stepfunctions

    item = context.get("Map", {}).get("Item", {}).get("Index")
    own = Frame(start_at, copy.deepcopy(given))
    around = _frame.get(None)
    place = item if index is None else index
    if around is not None and place is not None:
        own = around.inner.setdefault(place, own)
    if own.name is None:
        return own.data
    details = {"index": item}
    iterates = item is not None and index is None
    if iterates:
        stepfunctions._add_event(execution, "MapIterationStarted", {"mapIterationStartedEventDetails": details})
    output = run_states(own, states, execution, context)
    if iterates:
        stepfunctions._add_event(execution, "MapIterationSucceeded", {"mapIterationSucceededEventDetails": details})
    return output


def run_states(own: Frame, states: dict[str, State], execution: Execution, context: Any) -> Any:
    """Run a sequence of states from where it stopped to its end. Returns its output."""
    from ministack.services import stepfunctions

    token = _frame.set(own)
    try:
        while own.name is not None:
            current().check()
            state = states.get(own.name)
            if state is None:
                raise stepfunctions._ExecutionError("States.Runtime", f"State '{own.name}' not found in definition")
            data, following = _run_state(stepfunctions, own.name, state, own.data, execution, context)
            own.data, own.name = data, following
            own.inner.clear()
    finally:
        _frame.reset(token)
    return own.data


def _run_state(
    stepfunctions: Any, name: str, state: State, data: Any, execution: Execution, context: Any
) -> tuple[Any, str | None]:
    kind = state["Type"]
    context["State"] = {"Name": name, "EnteredTime": stepfunctions.now_iso(), "RetryCount": 0}
    entered = {"name": name, "input": json.dumps(data)}
    stepfunctions._add_event(execution, f"{kind}StateEntered", {"stateEnteredEventDetails": entered})
    if kind == "Fail":
        raise stepfunctions._ExecutionError(*stepfunctions._fail_state_error(state, data, context))
    following: str | None = None
    try:
        if kind == "Succeed":
            data = stepfunctions._apply_input_path(state, data, context)
            data = stepfunctions._apply_output_path(state, data, context)
        elif kind in {"Task", "Parallel", "Map"}:
            data, following = getattr(stepfunctions, f"_execute_{kind.lower()}")(state, data, execution, context)
        elif kind in {"Pass", "Choice", "Wait"}:
            data, following = getattr(stepfunctions, f"_execute_{kind.lower()}")(state, data, context)
        else:
            raise stepfunctions._ExecutionError("States.Runtime", f"Unknown state type: {kind}")
    except ScopeEnded:
        if kind in {"Task", "Parallel", "Map", "Wait"} and execution["status"] == "RUNNING":
            stepfunctions._add_event(execution, f"{kind}StateAborted")
        raise
    exited = {"name": name, "output": json.dumps(data)}
    stepfunctions._add_event(execution, f"{kind}StateExited", {"stateExitedEventDetails": exited})
    return data, following


def _naming_failures(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    def evaluate_intrinsic(*arguments: Any) -> Any:
        from ministack.services import stepfunctions

        try:
            return evaluate(*arguments)
        except stepfunctions._ExecutionError:
            raise
        except Exception as error:
            raise stepfunctions._ExecutionError("States.IntrinsicFailure", str(error)) from error

    return evaluate_intrinsic
