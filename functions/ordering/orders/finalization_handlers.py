"""Lambda handler that finalizes an order when its saga, or its recovery, has ended."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any

from idempotency.saga.executions import Executions
from idempotency.saga.finalization import Finalization
from idempotency.saga.state import SagaReader
from ordering.definition import ORDER_SAGA
from ordering.order import parse_order
from runtime.clients import client
from runtime.context import LambdaContext
from runtime.dynamodb import dynamodb
from runtime.environment import read_environment
from runtime.stores import StoreEnvironment, lease_store, saga_tables, step_store
from runtime.tracing import traced

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
    stepfunctions = partial(client, "stepfunctions")
    return Finalization(
        ORDER_SAGA,
        step_store(environment),
        OrdersTable(environment.orders_table),
        Executions(ORDER_SAGA, stepfunctions, environment.order_saga_arn, environment.order_recovery_arn),
        SagaReader(ORDER_SAGA, dynamodb(), saga_tables(ORDER_SAGA, environment), environment.idempotency_table),
        parse_order,
        environment.lifetime,
        lease_store(environment) if environment.payment_gateway_url else None,
    )


def finalize_order(event: dict[str, Any], _context: LambdaContext) -> None:
    """Finalize the order of an event *Step Functions Execution Status Change*, of the saga or of the recovery."""
    detail = event["detail"]
    with traced("finalize_order", order_id=detail["name"]):
        finalization().finalize_event(detail, datetime.now(UTC))
