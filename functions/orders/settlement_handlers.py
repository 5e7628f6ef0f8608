"""Lambda handler that settles an order when its saga, or its recovery, has ended."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any

from runtime.clients import client
from runtime.context import LambdaContext
from runtime.dynamodb import dynamodb
from runtime.environment import read_environment
from runtime.stores import StoreEnvironment, lease_store, step_store
from runtime.tracing import traced

from .sagas import SagaExecution, Sagas
from .settlement import Settlement
from .state import OrderReader
from .table import OrdersTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment(StoreEnvironment):
    """payment_gateway_url: empty if there is no outside gateway."""

    orders_table: str
    payments_table: str
    inventory_table: str
    order_saga_arn: str
    order_recovery_arn: str
    payment_gateway_url: str = ""


@cache
def settlement() -> Settlement:
    environment = read_environment(Environment)
    tables = {
        "OrdersTable": environment.orders_table,
        "PaymentsTable": environment.payments_table,
        "InventoryTable": environment.inventory_table,
    }
    return Settlement(
        step_store(environment),
        OrdersTable(environment.orders_table),
        Sagas(partial(client, "stepfunctions"), environment.order_saga_arn, environment.order_recovery_arn),
        OrderReader(dynamodb(), tables, environment.idempotency_table),
        environment.lifetime,
        lease_store(environment) if environment.payment_gateway_url else None,
    )


def settle_order(event: dict[str, Any], _context: LambdaContext) -> None:
    """Settle the order of an event *Step Functions Execution Status Change*, of the saga or of the recovery."""
    detail = event["detail"]
    name, document, now = detail["name"], _document(detail), datetime.now(UTC)
    with traced("settle_order", order_id=name):
        if detail["stateMachineArn"] == settlement().sagas.recovery:
            settlement().settle_recovered(document, now)
        else:
            settlement().settle(SagaExecution(name, detail["status"], document), now)


def _document(detail: dict[str, Any]) -> Any:
    """Long inputs are left out of the event; the execution has them."""
    if detail.get("input"):
        return json.loads(detail["input"])
    return settlement().sagas.document(detail["executionArn"])
