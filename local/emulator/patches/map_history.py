"""A gap of MiniStack 1.5.33, closed from outside: what happens inside a Map is in the history, as on AWS.

MiniStack writes neither the iterations of a Map nor the states inside it. Without them nobody could follow an import
row by row, and a search of the history for what must not be in it would prove little.
"""

import copy
import json
from collections.abc import Callable
from typing import Any

type Execution = dict[str, Any]
type State = dict[str, Any]


def close_gap() -> None:
    """Change the loaded MiniStack module."""
    from ministack.services import stepfunctions

    stepfunctions._run_map_items = _counting(stepfunctions._run_map_items)
    stepfunctions._run_sub_machine = _run_sub_machine


def _counting(run: Callable[..., Any]) -> Callable[..., Any]:
    def run_map_items(state: State, raw_input: Any, execution: Execution, context: Any) -> Any:
        from ministack.services import stepfunctions

        effective = stepfunctions._apply_input_path(state, raw_input, context)
        items = stepfunctions._resolve_path_or_ctx(state.get("ItemsPath", "$"), effective, context)
        details = {"length": len(items) if isinstance(items, list) else 1}
        stepfunctions._add_event(execution, "MapStateStarted", {"mapStateStartedEventDetails": details})
        output = run(state, raw_input, execution, context)
        stepfunctions._add_event(execution, "MapStateSucceeded")
        return output

    return run_map_items


def _run_sub_machine(states: dict[str, State], start_at: str, given: Any, execution: Execution, context: Any) -> Any:
    """Run the states of one iteration of a Map, or of one branch, from the first to the last."""
    from ministack.services import stepfunctions

    index = context.get("Map", {}).get("Item", {}).get("Index")
    details = {"index": index}
    if index is not None:
        stepfunctions._add_event(execution, "MapIterationStarted", {"mapIterationStartedEventDetails": details})
    name: str | None = start_at
    data = copy.deepcopy(given)
    while name:
        data, name = _run_state(stepfunctions, name, states[name], data, execution, context)
    if index is not None:
        stepfunctions._add_event(execution, "MapIterationSucceeded", {"mapIterationSucceededEventDetails": details})
    return data


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
    if kind == "Succeed":
        data = stepfunctions._apply_input_path(state, data, context)
        data = stepfunctions._apply_output_path(state, data, context)
    elif kind in {"Task", "Parallel", "Map"}:
        run = {"Task": stepfunctions._execute_task, "Parallel": stepfunctions._execute_parallel}
        data, following = run.get(kind, stepfunctions._execute_map)(state, data, execution, context)
    else:
        run = {"Pass": stepfunctions._execute_pass, "Choice": stepfunctions._execute_choice}
        data, following = run.get(kind, stepfunctions._execute_wait)(state, data, context)
    exited = {"name": name, "output": json.dumps(data)}
    stepfunctions._add_event(execution, f"{kind}StateExited", {"stateExitedEventDetails": exited})
    return data, following
