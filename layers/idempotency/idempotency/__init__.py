"""Idempotent saga steps and leases on DynamoDB, no third-party package: docs/idempotency.md."""

from .decorators import InProgress, idempotent_function, idempotent_handler
from .dynamodb import Action, Cancellation, LeaseClient, PersonalKey, StepClient, TransactionClient, transact
from .errors import (
    AlreadyInProgress,
    BusinessError,
    Contention,
    DeferredResult,
    IdempotencyError,
    InvalidKey,
    LeaseLost,
    OutcomeHeld,
    PayloadMismatch,
    Refusal,
    ResultUnavailable,
    StateConflict,
    StepCompensated,
    StoredFailure,
    StoreUnavailable,
    TransientError,
)
from .lease import Lease
from .leases import LeaseStore
from .operators import LeaseOperations
from .payloads import PayloadHash, payload_hash
from .records import LeaseRecord, Status
from .resolution import NEVER_HAPPENED, Happened, Resolution
from .rounds import REFUSED, Decided, RoundStore
from .steps import COMMITTED, COMPENSATED, COMPENSATING, Step, StepStore
from .work import Unknown, Work

__all__ = [
    "COMMITTED",
    "COMPENSATED",
    "COMPENSATING",
    "NEVER_HAPPENED",
    "REFUSED",
    "Action",
    "AlreadyInProgress",
    "BusinessError",
    "Cancellation",
    "Contention",
    "Decided",
    "DeferredResult",
    "Happened",
    "IdempotencyError",
    "InProgress",
    "InvalidKey",
    "Lease",
    "LeaseClient",
    "LeaseLost",
    "LeaseOperations",
    "LeaseRecord",
    "LeaseStore",
    "OutcomeHeld",
    "PayloadHash",
    "PayloadMismatch",
    "PersonalKey",
    "Refusal",
    "Resolution",
    "ResultUnavailable",
    "RoundStore",
    "StateConflict",
    "Status",
    "Step",
    "StepClient",
    "StepCompensated",
    "StepStore",
    "StoreUnavailable",
    "StoredFailure",
    "TransactionClient",
    "TransientError",
    "Unknown",
    "Work",
    "idempotent_function",
    "idempotent_handler",
    "payload_hash",
    "transact",
]
