"""Every error of the layer, as a tree.

Step Functions matches an error by its class name alone, never by its base class, so each leaf below is named where a
state machine has to tell it apart (a contract test compares the two).

Exception
└── IdempotencyError
    ├── BusinessError       final: the same call would end the same way; never retried, always compensated
    │   ├── PayloadMismatch
    │   ├── StepCompensated
    │   ├── StateConflict
    │   ├── InvalidKey
    │   ├── OutcomeHeld
    │   ├── ResultUnavailable
    │   └── StoredFailure
    └── TransientError      nothing was decided: the same call is worth repeating
        ├── AlreadyInProgress
        ├── Contention
        ├── LeaseLost
        └── StoreUnavailable

Finalization (`idempotency.saga`) derives ExecutionNotFound, RecoveryEnded and SweepIncomplete from IdempotencyError.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


class IdempotencyError(Exception):
    """Base of all errors of this layer."""


class BusinessError(IdempotencyError):
    """A final, expected outcome. Services derive their own refusals from it."""


class TransientError(IdempotencyError):
    """The call may be repeated unchanged; whether it took effect will then be found out."""


class PayloadMismatch(BusinessError):
    """The step or the work is recorded with another payload: the same id was used for two different requests."""


class StepCompensated(BusinessError):
    """The step was undone, or barred before it happened. A late call must not land any more."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A business write whose condition did not hold.

    index: its place in the `writes` that the caller gave.
    item: the row that stands there, in DynamoDB's own JSON, or None if there is none.
    """

    index: int
    item: Mapping[str, Any] | None


class StateConflict(BusinessError):
    """A business row is not in the state that the step expects to find; nothing was written.

    refusals: the writes that were refused, in the order of the caller's `writes`. A stored one that is raised again
        has none.
    """

    refusals: tuple[Refusal, ...] = ()

    def __init__(self, message: str, refusals: tuple[Refusal, ...] = ()) -> None:
        super().__init__(message)
        self.refusals = refusals


class InvalidKey(BusinessError):
    """The call has no usable idempotency key. The message names the field; nothing was started."""


class OutcomeHeld(BusinessError):
    """An earlier attempt may or may not have taken effect, and the work waits for a person to find out."""


class ResultUnavailable(BusinessError):
    """The work is done and will not run again, but its result was too large, or not JSON, and could not be stored."""


class StoredFailure(BusinessError):
    """The final error of an earlier call, of a class that this version of the code does not know.

    name: the class name of that error.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name


class AlreadyInProgress(TransientError):
    """Another invocation is at work.

    key: of its record. until: when its lease ends unless it is extended, aware UTC.
    """

    def __init__(self, key: str, until: datetime) -> None:
        super().__init__(f"{key} is in progress; try again after {until.isoformat(timespec='seconds')}")
        self.key = key
        self.until = until


class LeaseLost(TransientError):
    """The lease ran out and somebody else has the work now; nothing was recorded for the former owner.

    Whether the former owner's effect took place is for the present owner to find out (`Unknown`).
    """


class Contention(TransientError):
    """Another transaction was writing the same item at the same moment."""


class StoreUnavailable(TransientError):
    """DynamoDB throttled the call, failed, or its answer was lost. The write may or may not have happened."""
