"""Schedules of imports, with the faults that only imports have."""

from collections.abc import Mapping
from typing import ClassVar

from tests.faults.actors import schedule as shared

STOP_AT, SWEEP_AT, OTHER_AT = "operator stops at", "sweep runs at", "another publisher at"
REMOVED_AT, STRAY_AT = "file removed at", "stray execution at"
READER_FAILS = "file unreadable for"
CHILD_LOST = "child lost before"

# Faults at one AWS call, in addition to those of all actors.
CALL_KINDS = {
    STOP_AT: "an operator runs StopImport meanwhile",
    SWEEP_AT: "the sweep runs meanwhile",
    OTHER_AT: "another publisher publishes one of the keys meanwhile",
    REMOVED_AT: "the file of an import is removed meanwhile, with its version",
    STRAY_AT: "an execution with the input of an import is started under another name meanwhile",
}
MAP_KINDS = {
    READER_FAILS: "the Map Run cannot read its file (States.ItemReaderFailed)",
    shared.ABORTED_AT: shared.MACHINE_CALL_KINDS[shared.ABORTED_AT],
    shared.EXECUTION_TIMED_OUT_AT: shared.MACHINE_CALL_KINDS[shared.EXECUTION_TIMED_OUT_AT],
}
CHILD_KINDS = {CHILD_LOST: "Step Functions fails the child before its function is invoked"}
KINDS = shared.kinds(
    *(CALL_KINDS, MAP_KINDS, CHILD_KINDS, shared.RECORD_KINDS, shared.EVENT_KINDS, shared.END_KINDS),
    shared.ACCOUNT_KINDS,
)


class Schedule(shared.Schedule):
    """A schedule. seed: decides the files, the interleaving and, unless they are listed, the faults."""

    NAME: ClassVar[str] = "imports"
    KINDS: ClassVar[Mapping[str, str]] = KINDS
    OWN_CALL_KINDS: ClassVar[Mapping[str, str]] = CALL_KINDS
