"""Parallel states and inline Map states.

1. When a branch or an iteration fails, the state fails at once with that error. The others enter no further state;
   running functions continue.
2. `MaxConcurrencyPath` works. Each branch has a separate context object.
3. The history has events for the start and the end of the state and of its iterations.
4. A Map iterates over an object's keys with their values.

MiniStack waits for all branches, reports the first error by index, and takes an object for a single item.
"""

import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any

from . import states
from .limits import inline_concurrency
from .scopes import Scope, current, inside

type Execution = dict[str, Any]
type State = dict[str, Any]
type Run = Callable[[int], Any]


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services import stepfunctions

    stepfunctions._with_retry_and_catch = _anew_at_each_try(stepfunctions._with_retry_and_catch)
    stepfunctions._run_parallel_branches = _run_parallel_branches
    stepfunctions._run_map_items = _run_map_items


def _anew_at_each_try(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """Start a retry from scratch; a redrive continues the previous try."""

    def with_retry_and_catch(state: State, given: Any, context: Any, attempt: Callable[[], Any]) -> Any:
        tries = 0

        def counted() -> Any:
            nonlocal tries
            if tries:
                states.frame().inner.clear()
            tries += 1
            return attempt()

        return upstream(state, given, context, counted)

    return with_retry_and_catch


def run_all(number: int, run: Run, at_once: int = 0) -> list[Any]:
    """Run pieces by their index, this many at once (0: all). Raises the error of the first that fails, at once."""
    around, results, errors = current(), [None] * number, []
    scope, following, lock = Scope(around), iter(range(number)), threading.Lock()

    def work() -> None:
        with inside(scope):
            while not scope.ended:
                with lock:
                    index = next(following, None)
                if index is None:
                    return
                try:
                    results[index] = run(index)
                except Exception as error:
                    errors.append(error)
                    scope.end()

    workers = [around.started(work) for _ in range(min(at_once or number, number))]
    try:
        around.wait(lambda: bool(errors) or all(worker.done() for worker in workers), lambda: None)
    finally:
        scope.end()
    if errors:
        raise errors[0]
    return results


def _run_parallel_branches(state: State, given: Any, execution: Execution, context: Any) -> tuple[Any, str | None]:
    from ministack.services import stepfunctions as sf

    data = sf._apply_parameters(state, sf._apply_input_path(state, given, context), context)
    branches = state["Branches"]

    def run(index: int) -> Any:
        branch = branches[index]
        own = copy.deepcopy(context)
        return states.run_inside(branch["States"], branch["StartAt"], data, execution, own, index)

    sf._add_event(execution, "ParallelStateStarted")
    results = _told(execution, "Parallel", lambda: run_all(len(branches), run))
    return state_output(state, given, context, results)


def _run_map_items(state: State, given: Any, execution: Execution, context: Any) -> tuple[Any, str | None]:
    from ministack.services import stepfunctions as sf

    data = sf._apply_input_path(state, given, context)
    processor = state.get("ItemProcessor") or state.get("Iterator", {})
    if (processor.get("ProcessorConfig") or {}).get("Mode") == "DISTRIBUTED":
        distributed: tuple[Any, str | None] = sf._run_distributed_map(state, given, data, processor, execution, context)
        return distributed
    items = items_of(state, given, data, context)

    def run(index: int) -> Any:
        own = copy.deepcopy(context)
        own["Map"] = item_context(index, items[index])
        entered = item_input(state, given, data, items[index], own)
        return states.run_inside(processor["States"], processor["StartAt"], entered, execution, own)

    started = {"mapStateStartedEventDetails": {"length": len(items)}}
    sf._add_event(execution, "MapStateStarted", started)
    at_once = inline_concurrency(int(number(state, "MaxConcurrency", given, data, context) or 0))
    results = _told(execution, "Map", lambda: run_all(len(items), run, at_once))
    return state_output(state, given, context, results)


def items_of(state: State, given: Any, data: Any, context: Any) -> Sequence[Any]:
    """Return the items that a Map iterates over, if no ItemReader reads them."""
    from ministack.services import stepfunctions as sf

    error = "States.Runtime"
    if "Items" in state and sf._state_query_language(state, context) == "JSONata":
        found, error = sf._apply_jsonata_template(state["Items"], given, context), "States.QueryEvaluationError"
    else:
        found = sf._resolve_path_or_ctx(state.get("ItemsPath", "$"), data, context)
    try:
        return iterated(found)
    except ValueError as wrong:
        raise sf._ExecutionError(error, str(wrong)) from None


class Pair(dict[str, Any]):
    """An item of an object: a key with its value."""


def iterated(found: Any) -> list[Any]:
    """Return the items of an array or an object. Raises ValueError."""
    if isinstance(found, dict):
        return [Pair(Key=key, Value=value) for key, value in found.items()]
    if not isinstance(found, list):
        raise ValueError("The items of a Map state must be an array or an object")
    return found


def item_context(index: int, item: Any) -> dict[str, Any]:
    """Return the context object's fields for an iteration."""
    return {"Item": {"Index": index, **(item if isinstance(item, Pair) else {"Value": item})}}


def item_input(state: State, given: Any, data: Any, item: Any, context: Any) -> Any:
    """Transform an item with its ItemSelector."""
    from ministack.services import stepfunctions as sf

    selector = state.get("ItemSelector") or state.get("Parameters")
    if not selector:
        return item
    if sf._state_query_language(state, context) == "JSONata":
        return sf._apply_jsonata_template(selector, given, context)
    return sf._resolve_params_obj(selector, data, context)


def number(fields: State, name: str, given: Any, data: Any, context: Any) -> float | None:
    """Return a numeric field, from its `...Path` form or its JSONata expression; None if there is none."""
    from ministack.services import stepfunctions as sf

    if path := fields.get(f"{name}Path"):
        return float(sf._resolve_path_or_ctx(path, data, context))
    if isinstance(fields.get(name), str):
        return float(sf._jsonata_state_field(fields, name, "number", given, context))
    return fields.get(name)


def _told(execution: Execution, kind: str, run: Callable[[], list[Any]]) -> list[Any]:
    """Run a state's branches or iterations, and record their end in the history."""
    from ministack.services import stepfunctions

    try:
        results = run()
    except stepfunctions._ExecutionError:
        stepfunctions._add_event(execution, f"{kind}StateFailed")
        raise
    stepfunctions._add_event(execution, f"{kind}StateSucceeded")
    return results


def state_output(state: State, given: Any, context: Any, results: list[Any]) -> tuple[Any, str | None]:
    """Return the output of a Map or Parallel state, and the next state."""
    from ministack.services import stepfunctions as sf

    if sf._state_query_language(state, context) == "JSONata":
        output = sf._apply_jsonata_output(state, given, context, result=results, default=results)
        sf._apply_state_assign(state, given, context, result=results)
    else:
        output = sf._apply_result_path(state, given, sf._apply_result_selector(state, results))
        output = sf._apply_output_path(state, output, context)
    return output, sf._next_or_end(state)
