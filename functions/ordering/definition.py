"""The order saga as data."""

from typing import Any

from idempotency.saga import Saga, SagaStep

from .requests import Order, parse_order

NEW = "New"
CONFIRMED = "Confirmed"
PENDING = "Pending"
CAPTURED = "Captured"
REFUNDED = "Refunded"
RESERVED = "Reserved"
RELEASED = "Released"


def order_lines(order: Order) -> list[dict[str, Any]]:
    """Return the lines as the order's row has them."""
    return [{"sku": item.sku, "quantity": item.quantity, "unit_price": item.unit_price} for item in order.items]


def reserved_lines(order: Order) -> list[dict[str, Any]]:
    """Return the lines as the reservation has them."""
    return [{"sku": item.sku, "quantity": item.quantity} for item in order.items]


PROCESS_ORDER = SagaStep(
    "ProcessOrder",
    "UpdateOrderStatus",
    table="OrdersTable",
    key="order_id",
    standing=(NEW, CONFIRMED),
    facts=lambda order: {
        "customer_id": order.customer_id,
        "currency": order.currency,
        "items": order_lines(order),
    },
)
PROCESS_PAYMENT = SagaStep(
    "ProcessPayment",
    "ProcessRefund",
    table="PaymentsTable",
    key="order_id",
    standing=(CAPTURED,),
    facts=lambda order: {"amount": order.total, "currency": order.currency},
    outside="ChargeCard",
    undone=REFUNDED,
)
RESERVE_INVENTORY = SagaStep(
    "ReserveInventory",
    "ReleaseInventory",
    table="InventoryTable",
    key="pk",
    prefix="RESERVATION#",
    standing=(RESERVED,),
    facts=lambda order: {"items": reserved_lines(order)},
    undone=RELEASED,
)
_STEPS = (PROCESS_ORDER, PROCESS_PAYMENT, RESERVE_INVENTORY)
ORDER_SAGA = Saga(
    "order-saga",
    machine="OrderSaga",
    recovery="OrderRecovery",
    id_field="order_id",
    parse=parse_order,
    steps=_STEPS,
    open=NEW,
    confirmed=CONFIRMED,
    failed=PENDING,
)
STEPS = ORDER_SAGA.all_steps
STEP_NAMES = ORDER_SAGA.step_names
