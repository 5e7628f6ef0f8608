"""The failed conditions of a reservation that mean a lack of stock."""

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from idempotency import Contention, StateConflict, Step, StepStore
from idempotency.saga import SagaSteps
from ordering.definition import ORDER_SAGA
from ordering.inventory import Inventory, OutOfStock
from ordering.requests import parse_order
from ordering.stock import InventoryTable, Shards
from runtime.saga import Task
from tests.kit.orders import good_order

AT = datetime(2026, 11, 21, tzinfo=UTC)
ITEMS = [
    {"sku": "tea-01", "quantity": 2, "unit_price": 1500},
    {"sku": "cup-01", "quantity": 5, "unit_price": 800},
]
FINE = {"Code": "None"}
NOT_STOCKED = {"Code": "ConditionalCheckFailed"}
RESERVATION_STANDS = {"Code": "ConditionalCheckFailed", "Item": {"pk": {"S": "RESERVATION#o-1001"}}}
CONFLICT = {"Code": "TransactionConflict"}


class Cancelling:
    """A client that cancels every transaction, for one reason per action."""

    def __init__(self, *reasons: dict[str, Any]) -> None:
        self._reasons = list(reasons)

    def transact_write_items(self, *, TransactItems: Any) -> Any:
        assert len(TransactItems) == len(self._reasons)
        raise ClientError(
            {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": self._reasons},
            "TransactWriteItems",
        )

    def batch_get_item(self, *, RequestItems: Any) -> Any:
        """Read one row for each SKU, with ten pieces."""
        ((table, wanted),) = RequestItems.items()
        return {"Responses": {table: [{**key, "on_hand": {"N": "10"}} for key in wanted["Keys"]]}}


def short(on_hand: int) -> dict[str, Any]:
    return {"Code": "ConditionalCheckFailed", "Item": {"on_hand": {"N": str(on_hand)}}}


def reserve(*, tea: dict[str, Any], cup: dict[str, Any], reservation: dict[str, Any] = FINE) -> None:
    """Reserve two lines with this answer of DynamoDB for them; records and order are fine."""
    event = good_order(items=ITEMS)
    client: Any = Cancelling(FINE, tea, cup, reservation, FINE, FINE)
    store = StepStore(client, "Idempotency")
    steps = SagaSteps(ORDER_SAGA, store, {"OrdersTable": "Orders", "InventoryTable": "Inventory"})
    step = Step("o-1001", "ReserveInventory", event, "request-1", AT)
    Inventory(steps, InventoryTable("Inventory"), Shards(client, "Inventory")).reserve(
        Task(parse_order(event), step, AT)
    )


def test_short_line_reports_available_and_ordered_quantities() -> None:
    with pytest.raises(OutOfStock) as caught:
        reserve(tea=FINE, cup=short(4))

    assert str(caught.value) == "items[1]: cup-01 has 4, ordered 5"


def test_every_short_line_is_named() -> None:
    with pytest.raises(OutOfStock) as caught:
        reserve(tea=short(0), cup=short(4))

    assert str(caught.value) == "items[0]: tea-01 has 0, ordered 2; items[1]: cup-01 has 4, ordered 5"


def test_sku_without_a_row_is_out_of_stock() -> None:
    with pytest.raises(OutOfStock) as caught:
        reserve(tea=NOT_STOCKED, cup=FINE)

    assert str(caught.value) == "items[0]: tea-01 is not stocked"


def test_existing_reservation_is_not_a_shortage() -> None:
    with pytest.raises(StateConflict, match="Inventory"):
        reserve(tea=FINE, cup=FINE, reservation=RESERVATION_STANDS)


def test_existing_reservation_precedes_a_short_line() -> None:
    with pytest.raises(StateConflict):
        reserve(tea=short(0), cup=FINE, reservation=RESERVATION_STANDS)


def test_short_line_beside_a_conflict_decides_nothing() -> None:
    with pytest.raises(Contention):
        reserve(tea=short(0), cup=CONFLICT)
