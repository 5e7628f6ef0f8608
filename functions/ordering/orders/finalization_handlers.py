"""Lambda handler that finalizes an order when its saga, or its recovery, has ended."""

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

from .finalization import Finalization
from .sagas import SagaExecution, Sagas
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
def finalization() -> Finalization:
    environment = read_environment(Environment)
    tables = {
        "OrdersTable": environment.orders_table,
        "PaymentsTable": environment.payments_table,
        "InventoryTable": environment.inventory_table,
    }
    return Finalization(
        step_store(environment),
        OrdersTable(environment.orders_table),
        Sagas(partial(client, "stepfunctions"), environment.order_saga_arn, environment.order_recovery_arn),
        OrderReader(dynamodb(), tables, environment.idempotency_table),
        environment.lifetime,
        lease_store(environment) if environment.payment_gateway_url else None,
    )


def finalize_order(event: dict[str, Any], _context: LambdaContext) -> None:
    """Finalize the order of an event *Step Functions Execution Status Change*, of the saga or of the recovery."""
    detail = event["detail"]
    name, now = detail["name"], datetime.now(UTC)
    with traced("finalize_order", order_id=name):
        if detail["stateMachineArn"] == finalization().sagas.recovery:
            finalization().finalize_recovered(_document(detail), now)
        elif not _confirmed_at_once(detail, now):
            finalization().finalize(SagaExecution(name, detail["status"], _document(detail)), now)


def _confirmed_at_once(detail: dict[str, Any], now: datetime) -> bool:
    """Without a look at the input: an account may call DescribeExecution some 15 times a second."""
    reading = detail["status"] == "SUCCEEDED" and not detail.get("input")
    return reading and finalization().confirm_at_once(detail["name"], now)


def _document(detail: dict[str, Any]) -> Any:
    """The rule leaves the input out of the event, as it holds a payment token; the execution has it."""
    if detail.get("input"):
        return json.loads(detail["input"])
    return finalization().sagas.document(detail["executionArn"])
