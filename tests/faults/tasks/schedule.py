"""A schedule of tasks: the faults that only tasks know."""

from collections.abc import Mapping
from typing import ClassVar

from tests.faults.actors import schedule as shared

RETRY_AT, SWEEP_AT, STRAY_AT = "operator retries at", "sweep runs at", "stray call at"
MESSAGE_TWICE, MESSAGE_REDRIVEN = "message twice:", "message redriven:"

# At one AWS call, beside those of all actors.
CALL_KINDS = {
    RETRY_AT: "an operator runs RetryTask meanwhile",
    SWEEP_AT: "the sweep runs meanwhile",
    STRAY_AT: "somebody calls any function of tasks meanwhile, for any attempt and item",
}
# At one message of the queue.
MESSAGE_KINDS = {
    MESSAGE_TWICE: "it is delivered again, minutes later or at once",
    MESSAGE_REDRIVEN: "its function is killed, and an operator redrives it from the dead-letter queue hours later",
}
KINDS = shared.kinds(CALL_KINDS, shared.RECORD_KINDS, shared.EVENT_KINDS, shared.END_KINDS, MESSAGE_KINDS)


class Schedule(shared.Schedule):
    """seed: decides the tasks, how everything interleaves, and unless they are listed, the faults."""

    NAME: ClassVar[str] = "tasks"
    KINDS: ClassVar[Mapping[str, str]] = KINDS
    OWN_CALL_KINDS: ClassVar[Mapping[str, str]] = CALL_KINDS
