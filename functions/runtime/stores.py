"""The stack's step records and leases, which share a table."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from idempotency import LeaseStore, StepStore
from idempotency.saga import Saga

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


def saga_tables(saga: Saga, environment: StoreEnvironment) -> Mapping[str, str]:
    """The physical names of the tables of a saga's steps, by logical id: `OrdersTable` is in `orders_table`."""
    return {step.table: getattr(environment, _variable(step.table)) for step in saga.all_steps}


def _variable(logical_id: str) -> str:
    return re.sub(r"(?<=.)(?=[A-Z])", "_", logical_id).lower()
