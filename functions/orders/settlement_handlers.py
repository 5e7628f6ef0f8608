"""Lambda handlers that settle orders whose saga has ended."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import read
from runtime.stores import StoreEnvironment, step_store
from runtime.tracing import traced
from saga.task import LambdaContext

from .sagas import SagaEnd, Sagas
from .settlement import Settlement, Sweep
from .table import OrdersTable, UnsettledIndex


@dataclass(frozen=True, slots=True)
class Environment(StoreEnvironment):
    orders_table: str
    order_saga_arn: str
    order_recovery_arn: str
    settle_after_seconds: int


@cache
def settlement() -> Settlement:
    environment = read(Environment)
    sagas = Sagas(partial(client, "stepfunctions"), environment.order_saga_arn, environment.order_recovery_arn)
    return Settlement(step_store(environment), OrdersTable(environment.orders_table), sagas)


@cache
def sweep() -> Sweep:
    environment = read(Environment)
    unsettled = UnsettledIndex(dynamodb(), environment.orders_table)
    longest_life = timedelta(seconds=environment.settle_after_seconds)
    return Sweep(settlement(), unsettled, longest_life)


def settle_order(event: dict[str, Any], _context: LambdaContext) -> None:
    """Settle the order of an event *Step Functions Execution Status Change*."""
    detail = event["detail"]
    with traced("settle_order", order_id=detail["name"]):
        settlement().settle(_end(detail), datetime.now(UTC))


def sweep_orders(_event: Any, _context: LambdaContext) -> dict[str, int]:
    """Settle the orders whose event was lost."""
    with traced("sweep_orders"):
        return {"settled": sweep().run(datetime.now(UTC))}


def _end(detail: dict[str, Any]) -> SagaEnd:
    """Long inputs are left out of the event; the execution has them."""
    document = json.loads(detail["input"]) if detail.get("input") else settlement().sagas.end(detail["name"]).document
    return SagaEnd(detail["name"], detail["status"], document)
