"""Lambda handler that finalizes an order when its saga or its recovery has ended."""

from functools import cache

from idempotency.saga.finalization import Finalization
from ordering.definition import ORDER_SAGA
from runtime import finalization as made
from runtime.ended import Ended
from runtime.handler import Call, handler
from runtime.saga import ended_parser

from .table import OrdersTable

Environment = made.FinalizationEnvironment


@cache
def finalization() -> Finalization:
    return made.finalization(ORDER_SAGA, OrdersTable, Environment())


@handler(ended_parser(ORDER_SAGA), ids=("order_id",))
def finalize_order(ended: Ended, call: Call) -> None:
    """Finalize the order whose saga or recovery has ended."""
    finalization().finalize_event(ended, call.at)
