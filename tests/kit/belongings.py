"""Everything that the tests create in a stack, recorded by key before it is created.

Every name begins with RUN, which is unique to this run. No customer pays in the tests' currency, so only the tests' own
report lines change.
"""

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime

from jobs.running import RUN_JOB
from ordering.definition import STEP_NAMES
from ordering.stock import reservation_key, stock_key
from stepwise.operations.stack import Stack
from user_import.creation import CREATE_USER

RUN = f"t{uuid.uuid4().hex[:7]}"
# ISO 4217 keeps it for tests.
CURRENCY = "XTS"
# Prefixes of object keys, by the output that names the bucket.
OBJECTS = {"JobsBucket": f"{RUN}/", "UsersBucket": f"manual/{RUN}/"}
# Also the prefix of usernames in Amazon Connect.
USERS = f"u{RUN}"


@dataclass(frozen=True, slots=True)
class Item:
    """A row: the output that names its table, its key attribute, and its key."""

    table: str
    name: str
    key: str


@dataclass(frozen=True)
class Belongings:
    """Keys of everything created. orders: by order_id. sagas: the orders that a state machine may be working on.

    items: all rows except orders and lines of reports, with their kinds.
    uploads: ids of jobs that S3 starts. instances: of Amazon Connect.
    days: that have only the tests' orders. shared_days: that may have others.
    """

    stack: Stack
    orders: set[str] = field(default_factory=set)
    sagas: set[str] = field(default_factory=set)
    items: dict[Item, str] = field(default_factory=dict)
    uploads: set[str] = field(default_factory=set)
    days: set[str] = field(default_factory=set)
    shared_days: set[str] = field(default_factory=set)
    instances: set[str] = field(default_factory=set)

    def saga(self, order_id: str) -> None:
        """Register an order whose steps a state machine or a test runs."""
        self.orders.add(order_id)
        self.sagas.add(order_id)
        self.items.update(_items_of_saga(order_id))

    def leave(self, order_id: str) -> None:
        """Forget an order whose running saga still needs its rows."""
        self.orders.discard(order_id)
        for item in _items_of_saga(order_id):
            del self.items[item]

    def counted(self, order_id: str, created_at: str) -> Item:
        """The record of what the reports count of an order."""
        reports, moment = self.stack.outputs["ReportsTable"], datetime.fromisoformat(created_at)
        key = f"{order_id}#{reports}#{moment.astimezone(UTC).isoformat(timespec='microseconds')}"
        item = Item("IdempotencyTable", "pk", key)
        self.items[item] = "records of reports"
        return item

    def sku(self, name: str) -> None:
        self.items[Item("InventoryTable", "pk", stock_key(name))] = "stocks"

    def job(self, job_id: str) -> None:
        self.items[Item("IdempotencyTable", "pk", RUN_JOB.record_key(job_id))] = "records of jobs"

    def upload(self, job_id: str) -> None:
        self.uploads.add(job_id)
        self.job(job_id)

    def users(self, import_id: str, rows: int) -> None:
        """The users that an import of this many rows may create."""
        for row in range(1, rows + 1):
            key = CREATE_USER.record_key(f"{import_id}/{row}")
            self.items[Item("IdempotencyTable", "pk", key)] = "records of users"


def _items_of_saga(order_id: str) -> dict[Item, str]:
    return {
        Item("PaymentsTable", "order_id", order_id): "payments",
        Item("InventoryTable", "pk", reservation_key(order_id)): "reservations",
        **{Item("IdempotencyTable", "pk", f"{order_id}#{step}"): "step records" for step in STEP_NAMES},
    }
