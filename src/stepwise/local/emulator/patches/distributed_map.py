"""Distributed Map states.

1. ItemReader, in `item_reader`, and ItemBatcher.
2. Map Runs, in `map_runs`: child executions with a history, a timeout and redrives; a failure threshold that is
   watched while they run; live counters; a life beyond a stopped parent.
3. ResultWriter, in `result_writer`.
4. The `...Path` forms of all limits.

MiniStack gives children no history, ignores batches and writers, reads no path, and watches the threshold only at the
end.
"""

import json
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from . import item_reader, map_runs, states
from .child_executions import Child
from .groups import item_context, item_input, items_of, number, state_output
from .map_runs import MapRun
from .result_writer import Export
from .scopes import ScopeEnded, current
from .states import Frame

type Execution = dict[str, Any]
type State = dict[str, Any]

_LIMITS = {
    "MaxConcurrency": ("maxConcurrency", int),
    "ToleratedFailureCount": ("toleratedFailureCount", int),
    "ToleratedFailurePercentage": ("toleratedFailurePercentage", float),
}
_MAX_BATCH_BYTES = 256 * 1024


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services import stepfunctions

    stepfunctions._run_distributed_map = _run_distributed_map
    stepfunctions._update_map_run = map_runs.update(stepfunctions._update_map_run)


def _run_distributed_map(
    state: State, given: Any, data: Any, processor: Any, execution: Execution, context: Any
) -> tuple[Any, str | None]:
    from ministack.services import stepfunctions as sf

    # A redrive finds the Map Run of the previous attempt here; a retry does not.
    kept = states.frame().inner
    redrive, stopped = 0 in kept, threading.Event()
    sf._add_event(execution, "MapStateStarted")
    event = "MapRunRedriven" if redrive else "MapRunStarted"
    try:
        if not redrive:
            kept[0] = Frame(None, _new_run(state, given, data, processor, execution, context))
        run: MapRun = kept[0].data
        details: dict[str, Any] = {"mapRunArn": run.arn}
        if redrive:
            details["redriveCount"] = run.record["redriveCount"] + 1
        sf._add_event(execution, event, {f"m{event[1:]}EventDetails": details})
        results = _results(run, state, execution, stopped, redrive)
    except sf._ExecutionError:
        sf._add_event(execution, "MapStateFailed")
        raise
    for event in ("MapRunSucceeded", "MapStateSucceeded"):
        sf._add_event(execution, event)
    return state_output(state, given, context, results)


def _results(run: MapRun, state: State, execution: Execution, stopped: threading.Event, redrive: bool) -> Any:
    from ministack.services import stepfunctions as sf

    transformation = (state.get("ResultWriter") or {}).get("WriterConfig", {}).get("Transformation", "COMPACT")
    try:
        return current().result(run.work, stopped, transformation, redrive)
    except ScopeEnded:
        run.stop(stopped)
        raise
    except sf._ExecutionError as error:
        details = {"error": error.error, "cause": error.cause}
        sf._add_event(execution, "MapRunFailed", {"mapRunFailedEventDetails": details})
        raise


def _new_run(state: State, given: Any, data: Any, processor: Any, execution: Execution, context: Any) -> MapRun:
    from ministack.services import stepfunctions as sf

    if reader := state.get("ItemReader"):
        items = item_reader.read(reader, given, data, context)
    else:
        items = list(items_of(state, given, data, context))
    inputs = _selected(items, state, given, data, context)
    limits = {
        field: kind(value)
        for name, (field, kind) in _LIMITS.items()
        if (value := number(state, name, given, data, context)) is not None
    }
    definition = {"QueryLanguage": sf._state_query_language({}, context), **processor}
    label = state.get("Label") or sf.new_uuid()
    run = MapRun(execution, context["StateMachine"]["Name"], label, definition, limits)
    writer = state.get("ResultWriter") or {}
    if "Resource" in writer:
        target = item_reader.arguments(writer, given, data, context)
        base = "/".join(part for part in (target.get("Prefix", "").rstrip("/"), run.id) if part)
        run.export = Export(target["Bucket"], base, writer.get("WriterConfig") or {}, run.arn)
    run.begin([Child(text, number_of) for text, number_of in _inputs(state, inputs, given, data, context)])
    return run


def _selected(items: list[Any], state: State, given: Any, data: Any, context: Any) -> Iterator[Any]:
    for index, item in enumerate(items):
        own = {**context, "Map": item_context(index, item)}
        yield item_input(state, given, data, item, own)


def _inputs(state: State, items: Iterable[Any], given: Any, data: Any, context: Any) -> Iterator[tuple[str, int]]:
    """Yield the input of each child, and how many items it has."""
    from ministack.services import stepfunctions as sf

    batcher = state.get("ItemBatcher")
    if not batcher:
        yield from ((_compact(item), 1) for item in items)
        return
    most = number(batcher, "MaxItemsPerBatch", given, data, context)
    size = number(batcher, "MaxInputBytesPerBatch", given, data, context) or _MAX_BATCH_BYTES
    extra = {}
    if "BatchInput" in batcher:
        if sf._state_query_language(state, context) == "JSONata":
            extra["BatchInput"] = sf._apply_jsonata_template(batcher["BatchInput"], given, context)
        else:
            extra["BatchInput"] = sf._resolve_params_obj(batcher["BatchInput"], data, context)
    for batch in _batches(items, most, min(size, _MAX_BATCH_BYTES)):
        yield _compact({**extra, "Items": batch}), len(batch)


def _batches(items: Iterable[Any], most: float | None, size: float) -> Iterator[list[Any]]:
    """Yield batches. size: maximum bytes of a batch's array."""
    from ministack.services import stepfunctions as sf

    batch: list[Any] = []
    used = 0
    for item in items:
        # With a bracket or a comma before it, and a bracket at the end.
        own = len(_compact(item).encode()) + 1
        if batch and (len(batch) == most or used + own + 1 > size):
            yield batch
            batch, used = [], 0
        if own + 1 > size:
            raise sf._ExecutionError("States.DataLimitExceeded", f"An item exceeds MaxInputBytesPerBatch: {size}")
        batch.append(item)
        used += own
    if batch:
        yield batch


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
