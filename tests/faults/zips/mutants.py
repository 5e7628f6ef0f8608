"""Deliberately broken variants of ZIPs: the explorer must see each one fail."""

from contextlib import AbstractContextManager
from typing import Any

import imports.archive
import imports.table
from imports.files import Files
from imports.state import ImportKey, Status
from imports.table import ImportsTable
from imports.zips import Children, ZipFinalization
from runtime.machine import Machine
from runtime.table import NEW
from tests.faults import faults as f
from tests.faults.actors import schedule as s
from tests.faults.actors.mutant import Mutants
from tests.faults.imports import invariants as of_imports
from tests.faults.imports.schedule import REMOVED_AT
from tests.faults.mutant import replaced
from tests.faults.zips import invariants as breaks

MUTANTS = mutant = Mutants()

_UNZIP_TWICE = ((r"^unzip@1#1(\.call\d+)?$", (f.DUPLICATE_AT, f.AGAIN, f.LATE, f.ABANDONED)),)
_PARENT_STOPPED = ((r"^(trigger_csv_jobs|trigger_single_csv)", (s.ABORTED_AT, f.ABORTED_BEFORE, f.ABORTED_AFTER)),)
_REDRIVEN = ((r"^(unzip|trigger_single_csv)@1", (f.ABORTED_AFTER,)), (r"^end@1#1$", (s.REDRIVEN,)))


@mutant("counters that stand still until the end", breaks.TOTAL)
def _still() -> AbstractContextManager[None]:
    return replaced(ImportKey, "parent", None)


@mutant("a late unzip that forgets the children", of_imports.ENDS, focus=_UNZIP_TWICE)
def _forgets() -> AbstractContextManager[None]:
    """The unzip resets their number to 0, and the ZIP waits forever for unknown children."""

    def loaded(self: Any, key: Any, values: Any, at: Any) -> bool:
        assign = {**values, "status": Status.PROCESSING, "updated_at": at.isoformat()}
        condition = "attribute_exists(#open_since) AND attribute_not_exists(#columns)"
        moves = {name: values.get(name, 0) for name in ("total_rows", "unprocessed_rows")}
        return bool(self._move(key, condition, assign, moves, at))

    return replaced(ImportsTable, "loaded", loaded)


@mutant(
    "a late unzip that reads a refused archive",
    breaks.REFUSED,
    focus=((r"^unzip@1#1(\.call\d+)?$", (f.DUPLICATE_AT, s.SLOW, f.ERROR_AFTER, REMOVED_AT)),),
)
def _reads_refused() -> AbstractContextManager[None]:
    """The archive was removed, and a call that had read it before writes its entries."""
    return replaced(imports.table, "_NOT_REFUSED", "attribute_exists(#pk)")


@mutant("a ZIP that does not wait for its children", breaks.LAST, focus=_PARENT_STOPPED)
def _impatient() -> AbstractContextManager[None]:
    def summarize(self: Any, made: Any, at: Any) -> Status:
        self.table.end_zip(made, self.table.children(made), Status.FAILED, None, at)
        return Status.FAILED

    return replaced(ZipFinalization, "_summarize", summarize)


@mutant(
    "a child of a ZIP that was stopped or has ended",
    breaks.CHILDLESS,
    of_imports.FINAL,
    focus=((r"^trigger_single_csv@1:\d#1$", (f.LATE, f.ABANDONED)), *_PARENT_STOPPED),
)
def _orphan() -> AbstractContextManager[None]:
    """A late trigger creates the child."""

    def add(self: Any, parent: Any, child: Any, at: Any) -> bool:
        counted = self.update_action(
            parent.key.row,
            "attribute_exists(#pk)",
            {"updated_at": at.isoformat()},
            computed={"children": "#children + :one"},
            values={"one": 1},
        )
        self.transact([self.put_action(child.values, NEW), counted])
        return True

    return replaced(ImportsTable, "add_child", add)


@mutant("an end event that is believed after a redrive", of_imports.CUT, focus=_REDRIVEN)
def _redriven() -> AbstractContextManager[None]:
    return replaced(Machine, "was_redriven", lambda *_: False)


@mutant("a token that only the stream answers", of_imports.ENDS, focus=((r"^record:", (s.RECORD_LOST,)),))
def _unanswered() -> AbstractContextManager[None]:
    return replaced(Children, "answer_all", lambda *_: 0)


@mutant("a refused archive that stays", breaks.CLEAN)
def _stays() -> AbstractContextManager[None]:
    return replaced(Files, "delete_all", lambda *_: None)


@mutant("an archive that is taken at its word", breaks.CHILDLESS, breaks.REFUSED)
def _believed() -> AbstractContextManager[None]:
    """Neither size nor checksum of the inflated data is compared."""
    return replaced(imports.archive, "_checked", lambda chunks, _: chunks)
