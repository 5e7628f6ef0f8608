"""Every write to the Payments table, each with its condition. A refund never deletes the payment."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from idempotency import Action
from ordering.definition import CAPTURED, REFUNDED
from ordering.order import Order
from runtime.dynamodb import attributes

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "stepwise/payments")


def payment_id(order_id: str) -> str:
    """The payment id of an order. A retry computes the same id."""
    return str(uuid.uuid5(_NAMESPACE, order_id))


@dataclass(frozen=True, slots=True)
class PaymentsTable:
    """Builds actions of a transaction; the step store writes them."""

    name: str

    def capture(self, order: Order, *, at: datetime, charge_id: str | None = None) -> Action:
        """Insert the order's payment. charge_id: the gateway's own, if there is one."""
        return {
            "Put": {
                "TableName": self.name,
                "Item": attributes(
                    {
                        "order_id": order.order_id,
                        "payment_id": payment_id(order.order_id),
                        "amount": order.total,
                        "currency": order.currency,
                        "status": CAPTURED,
                        "captured_at": at.isoformat(),
                        **({"charge_id": charge_id} if charge_id else {}),
                    }
                ),
                "ConditionExpression": "attribute_not_exists(order_id)",
            }
        }

    def refund(self, order_id: str, at: datetime) -> Action:
        """Mark the captured payment as refunded, once."""
        still_captured = "#status = :captured"
        return {
            "Update": {
                "TableName": self.name,
                "Key": attributes({"order_id": order_id}),
                "UpdateExpression": "SET #status = :refunded, refunded_at = :at",
                "ConditionExpression": still_captured,
                "ExpressionAttributeNames": {"#status": "status"},
                "ExpressionAttributeValues": attributes(
                    {":captured": CAPTURED, ":refunded": REFUNDED, ":at": at.isoformat()}
                ),
            }
        }
