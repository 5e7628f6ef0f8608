"""The stack's step records and leases, which share a table."""

from dataclasses import dataclass
from datetime import timedelta

from idempotency import LeaseStore, StepStore

from .dynamodb import dynamodb


@dataclass(frozen=True, slots=True)
class StoreEnvironment:
    """The environment variables of every function with records. record_lifetime_days: how long a record is kept."""

    idempotency_table: str
    record_lifetime_days: int

    @property
    def lifetime(self) -> timedelta:
        return timedelta(days=self.record_lifetime_days)


def step_store(environment: StoreEnvironment) -> StepStore:
    """The step records."""
    return StepStore(dynamodb(), environment.idempotency_table, lifetime=environment.lifetime)


def lease_store(environment: StoreEnvironment) -> LeaseStore:
    """The leases."""
    return LeaseStore(dynamodb(), environment.idempotency_table, lifetime=environment.lifetime)
