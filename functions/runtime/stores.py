"""The stack's step records and leases, which share a table."""

import re
from dataclasses import dataclass
from datetime import timedelta

from idempotency import LeaseStore, StepStore, Unknown, Work
from idempotency.saga import Saga, SagaSteps

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


def message_work(name: str) -> Work:
    """Work that a message of a queue asks for, and that is safe to repeat. No failure is stored, so a redrive helps."""
    return Work(name, unknown=Unknown.RUN_AGAIN, final=(), harmless=(Exception,))


def saga_steps(saga: Saga, environment: StoreEnvironment) -> SagaSteps:
    """The saga's steps, with the tables that the environment names: `OrdersTable` is in `orders_table`."""
    tables = {step.table: getattr(environment, _variable(step.table), "") for step in saga.deployed}
    return SagaSteps(saga, step_store(environment), tables)


def _variable(logical_id: str) -> str:
    return re.sub(r"(?<=.)(?=[A-Z])", "_", logical_id).lower()
