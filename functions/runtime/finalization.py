"""The finalization of a saga and its sweep, built from the function's environment."""

import json
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from .clients import client
from .dynamodb import dynamodb
from .handler import Call
from .stores import StoreEnvironment, lease_store, step_store

# Handlers of steps share their environment with these two, and need no more.
if TYPE_CHECKING:
    from idempotency.saga import Saga
    from idempotency.saga.finalization import Finalization, SagaRow
    from idempotency.saga.state import SagaReader
    from idempotency.saga.sweep import Sweep

# Time reserved by a sweep: the timeout of FinalizeAccount, which makes the most calls for one saga.
_MILLISECONDS_FOR_ONE = 80_000


class FinalizationEnvironment(StoreEnvironment):
    """Environment of the functions that finalize. saga_arn, recovery_arn: the machines' ARNs.

    step_tables: table names of all steps by logical id, as JSON.
    outside_url: URL of the external system that a step calls under a lease; empty if there is none.
    finalize_after_seconds: the age by which every saga has ended; the sweep uses it.
    """

    saga_arn: str
    recovery_arn: str
    step_tables: str
    outside_url: str = ""
    finalize_after_seconds: int


def finalization(saga: "Saga", row: "Callable[[str], SagaRow]", environment: FinalizationEnvironment) -> "Finalization":
    """Build the finalization of a saga. row: makes the saga's table from its name."""
    from idempotency.saga.executions import Executions
    from idempotency.saga.finalization import Finalization

    reader = _reader(saga, environment)
    return Finalization(
        saga,
        step_store(environment),
        row(reader.table(saga.first)),
        Executions(saga, partial(client, "stepfunctions"), environment.saga_arn, environment.recovery_arn),
        reader,
        environment.lifetime,
        lease_store(environment) if environment.outside_url else None,
    )


def sweep(finalization: "Finalization", environment: FinalizationEnvironment) -> "Sweep":
    """Build the sweep, which finalizes the sagas whose end events were lost."""
    from idempotency.saga.sweep import Sweep
    from idempotency.saga.table import UnsettledIndex

    reader = finalization.reader
    index = UnsettledIndex(dynamodb(), reader.table(reader.saga.first))
    return Sweep(finalization, index, timedelta(seconds=environment.finalize_after_seconds))


def has_time(call: Call) -> bool:
    """True if a sweep's invocation has time to finalize one more saga."""
    return call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_ONE


def _reader(saga: "Saga", environment: FinalizationEnvironment) -> "SagaReader":
    from idempotency.saga.state import SagaReader

    return SagaReader(saga, dynamodb(), json.loads(environment.step_tables), environment.idempotency_table)
