"""Schedules of commands, with the faults that only commands have."""

from collections.abc import Mapping
from typing import ClassVar

from tests.faults import faults as f
from tests.faults.actors import schedule as shared

STRAY_AT = "stray call at"
RETRY_AT, SKIP_AT = "operator retries at", "operator skips at"
REBUILD_AT = "operator rebuilds at"
RESTORED_AT = "gate put back at"
TIMED_OUT_WAITING = "waited too long in"
TARGET_FAILS = "target fails for"
MONTHS_PASS = "months pass at"

# Faults at one AWS call, in addition to those of all actors.
CALL_KINDS = {
    STRAY_AT: "somebody calls any function of commands meanwhile, with any version and attempt",
    RETRY_AT: "an operator runs RetryCommand meanwhile",
    SKIP_AT: "an operator runs SkipCommand meanwhile",
    REBUILD_AT: "an operator rebuilds the targets meanwhile",
    RESTORED_AT: "the gate is restored to an earlier state than its rows; rows of ended versions may have expired",
}
WAIT_KINDS = {TIMED_OUT_WAITING: "the wait for the predecessor times out"}
PUBLISH_KINDS = {f.PUBLISH_FAILS: f.PUBLISH_KINDS[f.PUBLISH_FAILS]}
TARGET_KINDS = {TARGET_FAILS: "a target of a synchronous command fails until its delivery gives up"}
REST_KINDS = {MONTHS_PASS: "91 days pass while nothing happens; then TTL deletes any of the rows that have expired"}
KINDS = shared.kinds(
    *(CALL_KINDS, WAIT_KINDS, PUBLISH_KINDS, shared.RECORD_KINDS, TARGET_KINDS, shared.EVENT_KINDS),
    *(shared.END_KINDS, REST_KINDS, shared.ACCOUNT_KINDS),
)


class Schedule(shared.Schedule):
    """A schedule. seed: decides the publications, the interleaving and, unless they are listed, the faults."""

    NAME: ClassVar[str] = "commands"
    KINDS: ClassVar[Mapping[str, str]] = KINDS
    OWN_CALL_KINDS: ClassVar[Mapping[str, str]] = CALL_KINDS
