"""Parallel states and inline Map states.

1. When a branch or an iteration fails, the state fails at once with that error; the others enter no further state, and
   functions that run already continue.
2. `MaxConcurrencyPath` is read. Branches do not share what the context object says of their states.
3. Events tell of the state's start and end, and of the iterations.

MiniStack waits for all branches and reports the first error by index.
"""

import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any

from . import executions
from .scopes import Scope, current, inside

type Execution = dict[str, Any]
type State = dict[str, Any]
type Run = Callable[[int], Any]


def apply() -> None:
    """Change the loaded MiniStack module."""
    from ministack.services import stepfunctions

    stepfunctions._with_retry_and_catch = _anew_at_each_try(stepfunctions._with_retry_and_catch)
    stepfunctions._run_parallel_branches = _run_parallel_branches
    stepfunctions._run_map_items = _run_map_items


def _anew_at_each_try(upstream: Callable[..., Any]) -> Callable[..., Any]:
    """A redrive goes on with what a try has left; a retry does not."""

    def with_retry_and_catch(state: State, given: Any, context: Any, attempt: Callable[[], Any]) -> Any:
        tries = 0

        def counted() -> Any:
            nonlocal tries
            if tries:
                executions.frame().inner.clear()
            tries += 1
            return attempt()

        return upstream(state, given, context, counted)

    return with_retry_and_catch


def run_all(number: int, run: Run, at_once: int = 0) -> list[Any]:
    """Run pieces by their index, so many at once (0: all). Raises the error of the first that fails, at once."""
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
        return executions.run_inside(branch["States"], branch["StartAt"], data, execution, own, index)

    sf._add_event(execution, "ParallelStateStarted")
    results = _told(execution, "Parallel", lambda: run_all(len(branches), run))
    return _output(state, given, context, results)


def _run_map_items(state: State, given: Any, execution: Execution, context: Any) -> tuple[Any, str | None]:
    from ministack.services import stepfunctions as sf

    data = sf._apply_input_path(state, given, context)
    processor = state.get("ItemProcessor") or state.get("Iterator", {})
    if (processor.get("ProcessorConfig") or {}).get("Mode") == "DISTRIBUTED":
        distributed: tuple[Any, str | None] = sf._run_distributed_map(state, given, data, processor, execution, context)
        return distributed
    items = _items(state, given, data, context)

    def run(index: int) -> Any:
        own = copy.deepcopy(context)
        own["Map"] = {"Item": {"Index": index, "Value": items[index]}}
        entered = _item_input(state, given, data, items[index], own)
        return executions.run_inside(processor["States"], processor["StartAt"], entered, execution, own)

    started = {"mapStateStartedEventDetails": {"length": len(items)}}
    sf._add_event(execution, "MapStateStarted", started)
    at_once = _at_once(state, given, data, context)
    results = _told(execution, "Map", lambda: run_all(len(items), run, at_once))
    return _output(state, given, context, results)


def _items(state: State, given: Any, data: Any, context: Any) -> Sequence[Any]:
    from ministack.services import stepfunctions as sf

    if "Items" in state and sf._state_query_language(state, context) == "JSONata":
        items: Any = sf._jsonata_state_field(state, "Items", "array", given, context)
    else:
        items = sf._resolve_path_or_ctx(state.get("ItemsPath", "$"), data, context)
    return items if isinstance(items, list) else [items]


def _item_input(state: State, given: Any, data: Any, item: Any, context: Any) -> Any:
    from ministack.services import stepfunctions as sf

    selector = state.get("ItemSelector") or state.get("Parameters")
    if not selector:
        return item
    if sf._state_query_language(state, context) == "JSONata":
        return sf._apply_jsonata_template(selector, given, context)
    return sf._resolve_params_obj(selector, data, context)


def _at_once(state: State, given: Any, data: Any, context: Any) -> int:
    from ministack.services import stepfunctions as sf

    if path := state.get("MaxConcurrencyPath"):
        return int(sf._resolve_path_or_ctx(path, data, context))
    if "MaxConcurrency" in state and sf._state_query_language(state, context) == "JSONata":
        return int(sf._jsonata_state_field(state, "MaxConcurrency", "number", given, context))
    return int(state.get("MaxConcurrency", 0))


def _told(execution: Execution, kind: str, run: Callable[[], list[Any]]) -> list[Any]:
    """Run a state's branches or iterations, and write into the history how that ends."""
    from ministack.services import stepfunctions

    try:
        results = run()
    except stepfunctions._ExecutionError:
        stepfunctions._add_event(execution, f"{kind}StateFailed")
        raise
    stepfunctions._add_event(execution, f"{kind}StateSucceeded")
    return results


def _output(state: State, given: Any, context: Any, results: list[Any]) -> tuple[Any, str | None]:
    from ministack.services import stepfunctions as sf

    if sf._state_query_language(state, context) == "JSONata":
        output = sf._apply_jsonata_output(state, given, context, result=results, default=results)
        sf._apply_state_assign(state, given, context, result=results)
    else:
        output = sf._apply_result_path(state, given, sf._apply_result_selector(state, results))
        output = sf._apply_output_path(state, output, context)
    return output, sf._next_or_end(state)
