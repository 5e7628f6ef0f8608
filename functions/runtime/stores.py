"""The stack's step records and leases, which share a table."""

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from idempotency import LeaseStore, StepStore, Unknown, Work

from .dynamodb import dynamodb
from .environment import Variables

if TYPE_CHECKING:
    from idempotency.saga import Saga, SagaSteps


class Records(Protocol):
    """The environment of a function with records. lifetime: how long a record is kept."""

    @property
    def idempotency_table(self) -> str: ...

    @property
    def lifetime(self) -> timedelta: ...


class StoreEnvironment(Variables):
    """The environment variables of every function with records. record_lifetime_days: how long a record is kept."""

    idempotency_table: str
    record_lifetime_days: int

    @property
    def lifetime(self) -> timedelta:
        return timedelta(days=self.record_lifetime_days)


def step_store(environment: Records) -> StepStore:
    """Return the store of step records."""
    return StepStore(dynamodb(), environment.idempotency_table, lifetime=environment.lifetime)


def lease_store(environment: Records) -> LeaseStore:
    """Return the store of leases."""
    return LeaseStore(dynamodb(), environment.idempotency_table, lifetime=environment.lifetime)


def message_work(name: str) -> Work:
    """Define work that a queue message asks for and that is safe to repeat.

    No failure is stored, so a redrive helps.
    """
    return Work(name, unknown=Unknown.RUN_AGAIN, final=(), harmless=(Exception,))


def saga_steps(saga: "Saga", environment: Records) -> "SagaSteps":
    """Return the saga's steps, with the tables that the environment names: `OrdersTable` is in `orders_table`."""
    # Not imported above: most functions with records have no saga.
    from idempotency.saga import SagaSteps

    return SagaSteps(saga, step_store(environment), _Tables(environment))


class _Tables(dict[str, str]):
    """The names of tables by logical id, each read from the environment at first use."""

    def __init__(self, environment: Records) -> None:
        super().__init__()
        self._environment = environment

    def __missing__(self, logical_id: str) -> str:
        variable = re.sub(r"(?<=.)(?=[A-Z])", "_", logical_id).lower()
        name: str = getattr(self._environment, variable)
        return name
