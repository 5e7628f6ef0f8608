"""Lambda handler that finalizes an order when its saga or its recovery has ended."""

from dataclasses import dataclass
from functools import cache

from idempotency.saga.finalization import Finalization
from ordering.definition import ORDER_SAGA
from runtime import finalization as made
from runtime.ended import Ended
from runtime.environment import read_environment
from runtime.handler import Call, handler
from runtime.saga import ended_parser

from .table import OrdersTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment(made.FinalizationEnvironment):
    """payment_gateway_url: empty without a gateway."""

    order_saga_arn: str
    order_recovery_arn: str
    payment_gateway_url: str = ""


@cache
def finalization() -> Finalization:
    environment = read_environment(Environment)
    machines = environment.order_saga_arn, environment.order_recovery_arn
    return made.finalization(
        ORDER_SAGA, OrdersTable, environment, *machines, leases=bool(environment.payment_gateway_url)
    )


@handler(ended_parser(ORDER_SAGA), ids=("order_id",))
def finalize_order(ended: Ended, call: Call) -> None:
    """Finalize the order whose saga or recovery has ended."""
    finalization().finalize_event(ended, call.at)
