"""DynamoDB's transactions in virtual time: each takes a while, and requests that meet it meanwhile are cancelled.

Like src/stepwise/local/emulator/patches/transactions.py, but a batch is also read row by row, as AWS may do it.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.faults.actors.database import Database, row_by_row
from tests.faults.actors.simulation import Simulation
from tests.faults.seams import Document
from tests.kit.engines.in_process import Answer

_SINGLE_WRITES = ("PutItem", "UpdateItem", "DeleteItem")
type Item = tuple[str, str]


@dataclass
class Conflicting:
    """Delays transactions and cancels conflicts.

    database: executes everything. simulation: the current run's. seconds: duration of a transaction.
    between: seconds between two rows of a batch. conflicts, written: transactions that lost, and that were tried.
    """

    database: Database
    simulation: Callable[[], Simulation]
    seconds: float = 0.02
    between: Callable[[], float] = lambda: 0.002
    conflicts: int = 0
    tried: int = 0
    _ongoing: set[Item] = field(default_factory=set)

    def create(self, table: Document) -> None:
        self.database.create(table)

    def start(self) -> None:
        self.database.start()

    def clear(self, tables: list[str]) -> None:
        self._ongoing.clear()
        self.database.clear(tables)

    def execute(self, operation: str, parameters: Document) -> Answer:
        if operation == "BatchGetItem":
            return row_by_row(self.database, parameters, lambda: self.simulation().sleep(self.between()))
        items = list(_items(operation, parameters))
        if not self._ongoing.isdisjoint(items):
            self.conflicts += 1
            return _refused(operation, [item in self._ongoing for item in items])
        if operation != "TransactWriteItems":
            return self.database.execute(operation, parameters)
        self.tried += 1
        self._ongoing.update(items)
        try:
            self.simulation().sleep(self.seconds)
        finally:
            self._ongoing.difference_update(items)
        return self.database.execute(operation, parameters)


def _items(operation: str, parameters: Document) -> Iterator[Item]:
    """Yield the items of a transaction, or of a single write."""
    actions = [parameters] if operation in _SINGLE_WRITES else []
    for member in parameters.get("TransactItems", ()):
        actions += member.values()
    for action in actions:
        key = action.get("Key") or {name: value for name, value in action["Item"].items() if name in _KEYS}
        yield action["TableName"], json.dumps(key, sort_keys=True)


# A table has one of these keys.
_KEYS = ("pk", "order_id")


def _refused(operation: str, conflicts: list[bool]) -> Answer:
    if operation in _SINGLE_WRITES:
        return 400, {}, json.dumps({"__type": "TransactionConflictException"}).encode()
    reasons = [{"Code": "TransactionConflict" if one else "None"} for one in conflicts]
    return 400, {}, json.dumps({"__type": "TransactionCanceledException", "CancellationReasons": reasons}).encode()
