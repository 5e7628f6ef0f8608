"""The finalization of a saga and its sweep, made of the function's environment."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from idempotency.saga import Saga
from idempotency.saga.executions import Executions
from idempotency.saga.finalization import Finalization, SagaRow
from idempotency.saga.state import SagaReader
from idempotency.saga.sweep import Sweep
from idempotency.saga.table import UnsettledIndex

from .clients import client
from .dynamodb import dynamodb
from .stores import StoreEnvironment, lease_store, step_store


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalizationEnvironment(StoreEnvironment):
    """step_tables: the names of the tables of all steps, by logical id, as JSON."""

    step_tables: str


def finalization(
    saga: Saga,
    row: Callable[[str], SagaRow],
    environment: FinalizationEnvironment,
    machine: str,
    recovery: str,
    *,
    leases: bool = False,
) -> Finalization:
    """row: makes the saga's table of its name. machine, recovery: ARNs. leases: whether a step works outside."""
    reader = _reader(saga, environment)
    return Finalization(
        saga,
        step_store(environment),
        row(reader.table(saga.first)),
        Executions(saga, partial(client, "stepfunctions"), machine, recovery),
        reader,
        environment.lifetime,
        lease_store(environment) if leases else None,
    )


def sweep(finalization: Finalization, seconds: int) -> Sweep:
    """seconds: the age at which a saga has ended, whatever came of it."""
    reader = finalization.reader
    index = UnsettledIndex(dynamodb(), reader.table(reader.saga.first))
    return Sweep(finalization, index, timedelta(seconds=seconds))


def _reader(saga: Saga, environment: FinalizationEnvironment) -> SagaReader:
    return SagaReader(saga, dynamodb(), json.loads(environment.step_tables), environment.idempotency_table)
