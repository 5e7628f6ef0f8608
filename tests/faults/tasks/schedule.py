"""Schedules of tasks, with the faults that only tasks have."""

from collections.abc import Mapping
from typing import ClassVar

from tests.faults.actors import schedule as shared

RETRY_AT, SWEEP_AT, STRAY_AT = "operator retries at", "sweep runs at", "stray call at"
MESSAGE_TWICE, MESSAGE_REDRIVEN = "message twice:", "message redriven:"

# Faults at one AWS call, in addition to those of all actors.
CALL_KINDS = {
    RETRY_AT: "an operator runs RetryTask meanwhile",
    SWEEP_AT: "the sweep runs meanwhile",
    STRAY_AT: "somebody calls any function of tasks meanwhile, for any attempt and item",
}
# Faults at one message of the queue.
MESSAGE_KINDS = {
    MESSAGE_TWICE: "it is delivered again, minutes later or at once",
    MESSAGE_REDRIVEN: "its function is killed, and an operator redrives it from the dead-letter queue hours later",
}
KINDS = shared.kinds(
    *(CALL_KINDS, shared.RECORD_KINDS, shared.EVENT_KINDS, shared.END_KINDS, MESSAGE_KINDS, shared.ACCOUNT_KINDS)
)


class Schedule(shared.Schedule):
    """A schedule. seed: decides the tasks, the interleaving and, unless they are listed, the faults."""

    NAME: ClassVar[str] = "tasks"
    KINDS: ClassVar[Mapping[str, str]] = KINDS
    OWN_CALL_KINDS: ClassVar[Mapping[str, str]] = CALL_KINDS
