"""Deliberately broken variants of imports: the explorer must see each one fail.

Each is a small patch of the loaded code. `focus` says where its faults are drawn: a few schedules must do.
"""

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Any

import imports.finalizing
import imports.loading
import imports.requests
import imports.table
from idempotency import Decided
from imports.creation import Creation, Direct
from imports.executions import Machines
from imports.files import read_rows
from imports.layout import Layout
from imports.loading import Keys
from imports.publishing import Publisher
from imports.requests import parse_job
from imports.state import ImportKey, Status, Unprocessed
from imports.table import ImportsTable
from runtime.machine import Machine
from tests.faults import faults as f
from tests.faults.actors import schedule as s
from tests.faults.actors.mutant import THROTTLED, Mutants, with_tries
from tests.faults.imports import executing, play
from tests.faults.imports import invariants as breaks
from tests.faults.imports.executing import Executing
from tests.faults.imports.schedule import CHILD_LOST, READER_FAILS, REMOVED_AT, STRAY_AT, SWEEP_AT
from tests.faults.mutant import replaced

MUTANTS = mutant = Mutants()

_ROWS_LOST = ((r"^csv_rows_handler@\d\.\d+$", (CHILD_LOST,)),)
_BATCH_CUT = ((r"^csv_rows_handler@\d\.\d+#\d\.call[5-9]$", (f.DIES_BEFORE, f.DIES_AFTER)),)
_LATE_BATCH = ((r"^csv_rows_handler@\d\.\d+#1$", (f.ABANDONED,)),)
_SLOW_ROWS = (r"^csv_rows_handler@\d\.\d+#1\.call\d+$", (s.SLOW,))
_PARENT_STOPPED = ((r"^import-csv@", (s.ABORTED_AT, s.EXECUTION_TIMED_OUT_AT)), _SLOW_ROWS)
_REDRIVEN = ((r"^(csv_loader|finalize_parent_job)@\d$", (f.ABORTED_AFTER,)), (r"^end@\d#1$", (s.REDRIVEN,)))
_SLOW_END = (r"^finalize_parent_job@\d#1\.call\d$", (s.SLOW,))
_REDRIVEN_LATE = (*_PARENT_STOPPED, (r"^end@\d#1$", (s.REDRIVEN,)), _SLOW_END)


@mutant("an end event that is believed after a redrive", breaks.CUT, focus=_REDRIVEN)
def _believed() -> AbstractContextManager[None]:
    return replaced(Machine, "was_redriven", lambda *_: False)


@mutant("a wait for a Map Run during which nothing is redriven", breaks.CUT, focus=_REDRIVEN_LATE)
def _asks_once() -> AbstractContextManager[None]:
    """An answer from before the wait is used after it."""
    was_redriven = Machine.was_redriven

    def asked_before(self: Any, arn: str) -> bool:
        answers = play.engine().run.invocation.__dict__.setdefault("answers", {})
        if arn not in answers:
            answers[arn] = was_redriven(self, arn)
        return bool(answers[arn])

    return replaced(Machine, "was_redriven", asked_before)


@mutant("a counter outside the record", breaks.COUNTERS, focus=((r"^record:", (s.RECORD_TWICE,)),))
def _unmarked() -> AbstractContextManager[None]:
    """Each stream record adds to the counters, even if it is redelivered."""

    def mark(self: Any, key: Any, first_row: int, at: Any) -> Any:
        return self.update_action(key.batch(first_row), "attribute_exists(#pk)", {"counted_at": at.isoformat()})

    return replaced(ImportsTable, "_mark", mark)


@mutant(
    "an import that a second call creates again",
    *(breaks.FINAL, breaks.COUNTERS, breaks.ENDS, breaks.ONCE, breaks.RECORDED, breaks.STATUS),
    focus=((r"^CreateImport.*call[2-5]$", (s.SLOW, s.HELD)),),
)
def _created_again() -> AbstractContextManager[None]:
    def create(self: Any, new: Any, tip: str | None = None) -> Any:
        actions = [self.put_action(new.values)]
        actions += [self._follows(new, tip)] if tip else []
        return new if self.transact(actions) is None else None

    stack, plan = ExitStack(), executing.plan
    stack.enter_context(replaced(executing, "plan", lambda one: replace(plan(one), uploaded=True, twice=True)))
    stack.enter_context(replaced(ImportsTable, "create", create))
    return stack


@mutant("queued counted as stored", breaks.STATUS, breaks.OUTCOME)
def _queued() -> AbstractContextManager[None]:
    """A row that waits for another publisher's command counts as stored."""
    refused = Publisher._refused

    def stored(self: Any, row: Any, refusal: Any, sk: str) -> Decided:
        if refusal.code == "PendingCommand":
            return Decided(True, self.import_.round, {"sk": sk, "version": 1, "effect": "updated"})
        decided: Decided = refused(self, row, refusal, sk)
        return decided

    return replaced(Publisher, "_refused", stored)


@mutant("a retry matched by position", breaks.KEPT, breaks.ONCE, breaks.OUTCOME, breaks.STATUS, breaks.COMPLETE)
def _by_position() -> AbstractContextManager[None]:
    original = Layout.row

    def row(self: Any, position: int, data: bytes | None, **marks: bool) -> Any:
        found = original(self, position, data, **marks)
        return replace(found, number=position)

    return replaced(Layout, "row", row)


@mutant("outcomes of the batch instead of the rows' records", breaks.OUTCOME, breaks.STATUS, focus=_BATCH_CUT)
def _of_batch() -> AbstractContextManager[None]:
    """A batch without a record counts as unprocessed, even if its rows were stored."""

    def outcomes(_: Any, __: Any, pointers: Any) -> list[Any]:
        return [Unprocessed(one.row, one.offset, one.length) for one in pointers]

    return replaced(imports.finalizing.Finalization, "_outcomes", outcomes)


@mutant("an answer of its own instead of the record's", breaks.OUTCOME, breaks.STATUS, focus=_LATE_BATCH)
def _own_answer() -> AbstractContextManager[None]:
    """A batch that runs twice reports its own findings, not those written first."""
    write = Publisher._write

    def own(self: Any, call: Any, row: Any, writes: Any, result: Mapping[str, Any]) -> Decided:
        decided = write(self, call, row, writes, result)
        return Decided(call == self.records.commit, decided.round, result)

    stack = ExitStack()
    stack.enter_context(replaced(Publisher, "_write", own))
    stack.enter_context(replaced(Decided, "is_final", lambda *_: False))
    return stack


@mutant("a parent that is always green", breaks.STATUS)
def _green() -> AbstractContextManager[None]:
    return replaced(imports.finalizing, "status_of", lambda *_: Status.COMPLETED)


@mutant("a finalization that does not wait for the Map Run", breaks.WAITS, focus=_PARENT_STOPPED)
def _impatient() -> AbstractContextManager[None]:
    return replaced(Machines, "check_map_run_ended", lambda *_: None)


@mutant("a batch that no bar stops", breaks.OUTCOME, breaks.FINAL, breaks.STATUS, focus=_LATE_BATCH)
def _unbarred() -> AbstractContextManager[None]:
    """A row's transaction does not check its batch."""

    def always(self: Any, key: Any, _: int) -> Any:
        return self.check_action(key.row, "attribute_exists(#pk)")

    return replaced(ImportsTable, "not_barred", always)


@mutant("an end without a condition", breaks.FINAL, focus=((r"^(event@|finalize_parent_job)", (f.AGAIN, f.LATE)),))
def _ends_twice() -> AbstractContextManager[None]:
    def end(self: Any, key: Any, status: Any, values: Any, at: Any, **_: bool) -> bool:
        assign = {**values, "updated_at": at.isoformat(), "ended_at": at.isoformat(), "status": status}
        return bool(self.update(key.row, "attribute_exists(#pk)", assign, remove=["open_since"]))

    stack = ExitStack()
    stack.enter_context(replaced(ImportsTable, "end", end))
    stack.enter_context(replaced(Status, "final", property(lambda _: False)))
    return stack


@mutant(
    "results that the next finalization replaces",
    breaks.FINAL,
    breaks.COMPLETE,
    focus=((r"^finalize_parent_job@1#1(\.call\d+)?$", (f.DUPLICATE_AT, SWEEP_AT, REMOVED_AT, f.LATE)), *_ROWS_LOST),
)
def _replaced() -> AbstractContextManager[None]:
    """All finalizations of an import write the same drafts."""
    return replaced(ImportKey, "draft", lambda self, _, name: f"{self.work}{name}.csv")


@mutant(
    "a finalization that counts although another one did",
    breaks.FINAL,
    breaks.COMPLETE,
    focus=((r"^finalize_parent_job@1#1(\.call\d+)?$", (f.DUPLICATE_AT, SWEEP_AT, REMOVED_AT, f.LATE)), *_ROWS_LOST),
)
def _decides_again() -> AbstractContextManager[None]:
    """The last decision wins."""
    return replaced(imports.table, "_NOT_DECIDED", "attribute_exists(#pk)")


@mutant(
    "a repeated loader that ends an import whose rows run",
    breaks.WAITS,
    breaks.OUTCOME,
    breaks.COMPLETE,
    breaks.SUM,
    focus=((r"^csv_loader@1#1(\.call\d+)?$", (f.DUPLICATE_AT, REMOVED_AT, f.LATE, f.AGAIN)), _SLOW_ROWS),
)
def _refuses_late() -> AbstractContextManager[None]:
    """The file is gone, so the loader refuses the file that an earlier call has loaded."""
    end = ImportsTable.end

    def refused(self: Any, key: Any, status: Any, values: Any, at: Any, **_: bool) -> bool:
        return end(self, key, status, values, at)

    return replaced(ImportsTable, "end", refused)


@mutant("a chain as old as its last retry", breaks.ONCE)
def _young() -> AbstractContextManager[None]:
    """Rows stored by the first import have no record any more."""
    tip = Creation._tip

    def of_retry(self: Any, earlier: Any, at: Any) -> Any:
        return tip(self, earlier, min(at, earlier.created))

    return replaced(Creation, "_tip", of_retry)


@mutant(
    "a loader that sets counters back",
    breaks.SUM,
    focus=((r"^csv_loader@\d#1\.call5$", (s.HELD,)), (r"^event@", (s.EVENT_LOST,)), *_PARENT_STOPPED),
)
def _set_back() -> AbstractContextManager[None]:
    def loaded(self: Any, key: Any, values: Any, at: Any) -> bool:
        assign = {**values, "status": Status.PROCESSING, "updated_at": at.isoformat()}
        return bool(self.update(key.row, "attribute_exists(#open_since)", assign))

    return replaced(ImportsTable, "loaded", loaded)


@mutant(
    "a barred batch that is completed twice",
    breaks.FINAL,
    focus=((r"^csv_rows_handler@\d\.1$", (CHILD_LOST,)), (r"^finalize_parent_job@\d#1$", (f.ABANDONED,))),
)
def _completed_twice() -> AbstractContextManager[None]:
    """A finalization that hangs before it reads the rows' records continues after a retry has decided them."""

    def completed(self: Any, key: Any, batch: Any, at: Any) -> bool:
        row = {**key.batch(batch.first_row), **batch.values, "created_at": at.isoformat()}
        return bool(self.put(row, "attribute_exists(#pk)").applied)

    stack = ExitStack()
    stack.enter_context(replaced(ImportsTable, "complete_barred", completed))
    stack.enter_context(replaced(Executing, "hold_at", lambda _: 5))
    return stack


@mutant("results without the batches that were lost", breaks.COMPLETE, breaks.COUNTERS, breaks.SUM, focus=_ROWS_LOST)
def _incomplete() -> AbstractContextManager[None]:
    return replaced(imports.finalizing.Finalization, "_batches", lambda self, made, _: self.table.batches(made.key))


@mutant(
    "an event instead of the sweep",
    breaks.ENDS,
    focus=((r"^event@", (s.EVENT_LOST,)), (r"^import-csv@", (READER_FAILS,))),
)
def _no_sweep() -> AbstractContextManager[None]:
    return replaced(ImportsTable, "open", lambda _: iter(()))


@mutant(
    "an import that waits for its file",
    breaks.ENDS,
    focus=((r"^(csv_loader|csv_rows_handler)@\d.*call\d$", (REMOVED_AT,)), *_ROWS_LOST),
)
def _needs_file() -> AbstractContextManager[None]:
    """A finalization that cannot read rows fails."""
    return replaced(imports.finalizing, "rows_left", read_rows)


@mutant(
    "an execution of another name that ends an import",
    breaks.CUT,
    breaks.FINAL,
    breaks.OUTCOME,
    breaks.STATUS,
    breaks.WAITS,
    focus=((r"^(csv_loader|csv_rows_handler)@\d.*call\d$", (STRAY_AT,)),),
)
def _any_name() -> AbstractContextManager[None]:
    return replaced(imports.requests.ImportEnded, "job", property(lambda self: parse_job(json.loads(self.input))))


@mutant("a corrected row under another key", breaks.KEPT, focus=((r"^import-csv@1$", (READER_FAILS,)), *_ROWS_LOST))
def _moved() -> AbstractContextManager[None]:
    """The key of a row is only in its record, and an unprocessed row has none."""
    return replaced(Keys, "moved", lambda *_: False)


@mutant("a retry that checks stored rows", breaks.OUTCOME, breaks.COMPLETE, focus=_ROWS_LOST)
def _stored_unprocessed() -> AbstractContextManager[None]:
    return replaced(imports.finalizing.Finalization, "_decided", lambda *_: {})


@mutant("a validation that stores", breaks.STORED)
def _stores() -> AbstractContextManager[None]:
    run = Direct.run

    def stored(self: Any, made: Any, *rest: Any) -> Any:
        return run(self, replace(made, values={**made.values, "validated": False}), *rest)

    return replaced(Direct, "run", stored)


@mutant("a secret in the results", breaks.SECRET)
def _shown() -> AbstractContextManager[None]:
    def shown(self: Any, data: bytes | None) -> list[str]:
        found = self._cells(data) if data is not None else None
        return [*(found or [])[self.result_columns :], *[""] * len(self.names)][: len(self.names)]

    return replaced(Layout, "shown", shown)


@mutant("a corrected row that erases a secret", breaks.OUTCOME)
def _erased() -> AbstractContextManager[None]:
    check = Layout._checked

    def checked(self: Any, *row: Any) -> Any:
        return check(replace(self, kind=replace(self.kind, type=replace(self.kind.type, secret=()))), *row)

    return replaced(Layout, "_checked", checked)


@mutant("rows of empty cells that are rows", breaks.COMPLETE)
def _counts_blank() -> AbstractContextManager[None]:
    return replaced(imports.loading, "is_blank_row", lambda *_: False)


@mutant("rows of empty cells without a number", breaks.COMPLETE, breaks.OUTCOME, breaks.KEPT)
def _numbers_no_blank() -> AbstractContextManager[None]:
    places = imports.loading._places

    def dense(*given: Any, **options: Any) -> Any:
        return ((position, record) for position, (_, record) in enumerate(places(*given, **options), start=1))

    return replaced(imports.loading, "_places", dense)


@mutant("an open quote that is a row", breaks.REFUSED)
def _takes_open_quotes() -> AbstractContextManager[None]:
    see = imports.loading.Reader.see

    def closed(self: Any, layout: Any, place: Any) -> None:
        position, record = place
        see(self, layout, (position, replace(record, closed=True)))

    return replaced(imports.loading.Reader, "see", closed)


@mutant("a throttled batch that gives up within a minute", breaks.THROTTLED, focus=THROTTLED)
def _impatient() -> AbstractContextManager[None]:
    """Restore a past defect: a state had six tries, within 46 seconds."""
    return with_tries(6)
