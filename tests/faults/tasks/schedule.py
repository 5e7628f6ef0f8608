"""A schedule of tasks: the faults that only tasks know."""

from collections.abc import Mapping
from typing import ClassVar

from tests.faults import faults as f
from tests.faults.actors import schedule as shared

NAME = "tasks"
RETRY_AT, SWEEP_AT, STRAY_AT = "operator retries at", "sweep runs at", "stray call at"
MESSAGE_TWICE = "message twice:"

# At one AWS call, beside those of all actors.
CALL_KINDS = {
    RETRY_AT: "an operator runs RetryTask meanwhile",
    SWEEP_AT: "the sweep runs meanwhile",
    STRAY_AT: "somebody calls any function of tasks meanwhile, for any attempt and item",
}
# At one message of the queue.
MESSAGE_KINDS = {MESSAGE_TWICE: "it is delivered again, minutes later or at once"}
KINDS: Mapping[str, str] = {
    **shared.CALL_KINDS,
    **CALL_KINDS,
    **shared.WRITE_KINDS,
    **shared.TRANSACTION_KINDS,
    **shared.READ_KINDS,
    **shared.MACHINE_CALL_KINDS,
    **shared.INVOCATION_KINDS,
    **f.STATE_KINDS,
    **shared.RECORD_KINDS,
    **shared.EVENT_KINDS,
    **MESSAGE_KINDS,
}


class Schedule(shared.Schedule):
    """seed: decides the tasks, how everything interleaves, and unless they are listed, the faults."""

    NAME: ClassVar[str] = NAME
    KINDS: ClassVar[Mapping[str, str]] = KINDS
