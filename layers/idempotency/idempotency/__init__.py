"""Idempotent saga steps on DynamoDB, with no third-party package. See docs/idempotency.md for what is guaranteed."""

from .dynamodb import Action, TransactionClient
from .errors import (
    BusinessError,
    Contention,
    IdempotencyError,
    PayloadMismatch,
    Refusal,
    StateConflict,
    StepCompensated,
    StoreUnavailable,
    TransientError,
)
from .steps import COMMITTED, COMPENSATED, Step, StepStore, payload_hash

__all__ = [
    "COMMITTED",
    "COMPENSATED",
    "Action",
    "BusinessError",
    "Contention",
    "IdempotencyError",
    "PayloadMismatch",
    "Refusal",
    "StateConflict",
    "Step",
    "StepCompensated",
    "StepStore",
    "StoreUnavailable",
    "TransactionClient",
    "TransientError",
    "payload_hash",
]
