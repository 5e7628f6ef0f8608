"""Lambda handler that settles an order when its saga has ended."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any

from runtime.clients import client
from runtime.context import LambdaContext
from runtime.environment import read_environment
from runtime.stores import StoreEnvironment, step_store
from runtime.tracing import traced

from .sagas import SagaExecution, Sagas
from .settlement import Settlement
from .table import OrdersTable


@dataclass(frozen=True, slots=True)
class Environment(StoreEnvironment):
    orders_table: str
    order_saga_arn: str
    order_recovery_arn: str


@cache
def settlement() -> Settlement:
    environment = read_environment(Environment)
    sagas = Sagas(partial(client, "stepfunctions"), environment.order_saga_arn, environment.order_recovery_arn)
    return Settlement(step_store(environment), OrdersTable(environment.orders_table), sagas)


def settle_order(event: dict[str, Any], _context: LambdaContext) -> None:
    """Settle the order of an event *Step Functions Execution Status Change*."""
    detail = event["detail"]
    with traced("settle_order", order_id=detail["name"]):
        settlement().settle(_saga(detail), datetime.now(UTC))


def _saga(detail: dict[str, Any]) -> SagaExecution:
    """Long inputs are left out of the event; the execution has them."""
    name = detail["name"]
    document = json.loads(detail["input"]) if detail.get("input") else settlement().sagas.execution(name).document
    return SagaExecution(name, detail["status"], document)
