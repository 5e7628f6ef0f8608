"""The layer's errors, as a tree.

Step Functions matches an error by its class name, never by its base class, so a state machine names the leaves that it
handles. A contract test compares the two.

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
    ├── DeferredResult      a defect: the work returned what is yet to run, so nothing was decided
    └── TransientError      nothing was decided: the same call may succeed later
        ├── AlreadyInProgress
        ├── Contention
        ├── LeaseLost
        └── StoreUnavailable

Finalization (`idempotency.saga`) derives ExecutionNotFound, ExecutionRunning, RecoveryEnded and SweepIncomplete from
IdempotencyError.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


class IdempotencyError(Exception):
    """Base of all errors of this layer."""


class BusinessError(IdempotencyError):
    """A final, expected outcome. Services derive their own errors from it."""


class TransientError(IdempotencyError):
    """Repeating the call unchanged is safe; the repetition finds out whether the first one took effect."""


class PayloadMismatch(BusinessError):
    """The step or the work is recorded with a different payload: two different requests used the same id."""


class StepCompensated(BusinessError):
    """The step was undone, or barred before it ran. A late call must not take effect."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A business write whose condition failed.

    index: its position in the caller's `writes`.
    item: the existing row, in DynamoDB JSON; None if there is none.
    """

    index: int
    item: Mapping[str, Any] | None


class StateConflict(BusinessError):
    """A business row is not in the state that the step expects; nothing was written.

    refusals: the writes whose condition failed, in the order of the caller's `writes`. Empty for a stored error.
    """

    refusals: tuple[Refusal, ...] = ()

    def __init__(self, message: str, refusals: tuple[Refusal, ...] = ()) -> None:
        super().__init__(message)
        self.refusals = refusals


class InvalidKey(BusinessError):
    """The call has no usable idempotency key. The message names the field; nothing was started."""


class OutcomeHeld(BusinessError):
    """An earlier attempt may have taken effect, and the work waits until an operator finds out."""


class ResultUnavailable(BusinessError):
    """The work is done and will not run again, but its result could not be stored: it was too large, or not JSON."""


class StoredFailure(BusinessError):
    """The final error of an earlier call, whose class this version of the code does not know.

    name: the class name of that error.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name


class AlreadyInProgress(TransientError):
    """Another invocation holds the lease.

    key: its record's key. until: when the lease expires unless it is extended, aware UTC.
    """

    def __init__(self, key: str, until: datetime) -> None:
        super().__init__(f"{key} is in progress; try again after {until.isoformat(timespec='seconds')}")
        self.key = key
        self.until = until


class DeferredResult(IdempotencyError, TypeError):
    """The result is yet to be computed, such as a coroutine, so nothing says that the work was done."""


class LeaseLost(TransientError):
    """The lease expired and another invocation has the work; nothing was recorded for the former owner.

    The present owner finds out whether the former owner's work took effect (`Unknown`).
    """


class Contention(TransientError):
    """Another transaction was writing the same item at the same moment."""


class StoreUnavailable(TransientError):
    """DynamoDB throttled the call or failed, or its response was lost. The write may or may not have happened."""
