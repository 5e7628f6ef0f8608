"""Lambda handlers of ordering.

| handler                        | called by                                    |
| ------------------------------ | -------------------------------------------- |
| a step, or its compensation    | the states of order-saga and order-recovery  |
| finalize_order, sweep_orders   | the event of an end of either; the schedule  |
| notify_orders                  | the stream of OrdersTable                    |
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from runtime.dynamodb import dynamodb
from runtime.ended import Ended
from runtime.finalization import FinalizationEnvironment, has_time
from runtime.handler import Call, handler, unread
from runtime.saga import Result, Task, ended_parser, tasks
from runtime.stores import lease_store, saga_steps
from runtime.streams import Record, parse_records

from .definition import ORDER_SAGA, PROCESS_ORDER, PROCESS_PAYMENT, RESERVE_INVENTORY
from .requests import Order

# Each function needs some of these only, and loading all takes a tenth of a cold start.
if TYPE_CHECKING:
    from idempotency.saga import SagaSteps
    from idempotency.saga.finalization import Finalization
    from idempotency.saga.sweep import Sweep
    from runtime.notices import Notices

    from .audit import Audit
    from .inventory import Inventory
    from .orders import Orders
    from .payments import PaymentGateway, Payments

# Reserved for the audit: a page of each kind takes at most six calls.
_MILLISECONDS_FOR_A_PAGE = 30_000


class Environment(FinalizationEnvironment):
    """Environment of the ordering functions. Without a gateway, payment_gateway_url and the secrets' ARNs are empty."""

    orders_table: str
    payments_table: str
    inventory_table: str
    payment_gateway_url: str = ""
    payment_gateway_secret_arn: str = ""
    payment_key_arn: str = ""
    notification_topic_arn: str


environment = Environment()
order_task = tasks(ORDER_SAGA)


@cache
def saga() -> "SagaSteps":
    return saga_steps(ORDER_SAGA, environment)


@cache
def orders() -> "Orders":
    from .orders import Orders, OrdersTable

    return Orders(saga(), OrdersTable(environment.orders_table))


@cache
def payments() -> "Payments":
    from .payments import Payments, PaymentsTable

    return Payments(saga(), PaymentsTable(environment.payments_table), _gateway())


def _gateway() -> "PaymentGateway | None":
    if not environment.payment_gateway_url:
        return None
    from runtime.bearer import BearerSession
    from runtime.secrets import Secret

    from .gateway import HttpGateway

    return HttpGateway(
        environment.payment_gateway_url.rstrip("/"),
        lease_store(environment),
        BearerSession(Secret(environment.payment_gateway_secret_arn)),
        Secret(environment.payment_key_arn),
    )


@cache
def inventory() -> "Inventory":
    from .inventory import Inventory
    from .stock import InventoryTable, Shards

    name = environment.inventory_table
    return Inventory(saga(), InventoryTable(name), Shards(dynamodb(), name))


@cache
def finalization() -> "Finalization":
    from runtime.finalization import finalization

    from .orders import OrdersTable

    return finalization(ORDER_SAGA, OrdersTable, environment)


@cache
def sweep() -> "Sweep":
    from runtime.finalization import sweep

    return sweep(finalization(), environment)


@cache
def audit() -> "Audit":
    from .audit import Audit

    reader = finalization().reader
    return Audit(reader.client, reader.tables, reader.records)


@cache
def notices() -> "Notices":
    from runtime.notices import Notices

    return Notices.of(environment.notification_topic_arn)


@order_task(PROCESS_ORDER)
def process_order(task: Task[Order]) -> Result:
    """Save the order with status New."""
    return orders().process(task)


@order_task(PROCESS_ORDER)
def update_order_status(task: Task[Order]) -> Result:
    """Undo process_order: set the order's status to Pending."""
    return orders().update_status(task)


@order_task(PROCESS_PAYMENT)
def process_payment(task: Task[Order]) -> Result:
    """Capture the order's total."""
    return payments().process(task)


@order_task(PROCESS_PAYMENT)
def process_refund(task: Task[Order]) -> Result:
    """Undo process_payment: refund the captured amount."""
    return payments().refund(task)


@order_task(RESERVE_INVENTORY)
def reserve_inventory(task: Task[Order]) -> Result:
    """Reserve every line of the order and take its stock."""
    return inventory().reserve(task)


@order_task(RESERVE_INVENTORY)
def release_inventory(task: Task[Order]) -> Result:
    """Undo reserve_inventory: cancel the reservation and give the stock back."""
    return inventory().release(task)


@handler(ended_parser(ORDER_SAGA), ids=("order_id",))
def finalize_order(ended: Ended, call: Call) -> None:
    """Finalize the order whose saga or recovery has ended."""
    finalization().finalize_event(ended, call.at)


@handler(unread)
def sweep_orders(_: None, call: Call) -> dict[str, int]:
    """Finalize the orders whose event was lost, count those with standing steps, and audit some of all orders."""
    try:
        return sweep().run(call.at, lambda: has_time(call))
    finally:
        audit().sweep(lambda: call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_A_PAGE)


@handler(parse_records)
def notify_orders(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Publish a notice for each order in the stream of OrdersTable that was confirmed, or failed and became Pending."""
    from .orders import notice_of

    return notices().follow(records, notice_of)
