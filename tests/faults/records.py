"""An order's records, and their changes by time, TTL and backups."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.faults.engine import Engine
from tests.faults.rows import RECORDS
from tests.faults.seams import Document

DAY = 24 * 3600


@dataclass
class Records:
    """Records by name; None for a missing one. backups: by the place in the run."""

    engine: Engine
    order_id: str
    backups: dict[str, dict[str, Document | None]] = field(default_factory=dict)

    def read(self) -> dict[str, Document | None]:
        """Read all records of the order, in DynamoDB's own JSON."""
        keys = [self._key(name) for name in RECORDS]
        wanted = {self._table: {"Keys": keys, "ConsistentRead": True}}
        found = self.engine.plain("BatchGetItem", {"RequestItems": wanted})["Responses"][self._table]
        by_name = {item["pk"]["S"].partition("#")[2]: item for item in found}
        return {name: by_name.get(name) for name in RECORDS}

    def back_up(self, place: str) -> tuple[tuple[str, str, bool], ...]:
        """Back up the records at a place. Returns each one's name, status, and whether it expires."""
        found = self.backups[place] = self.read()
        return tuple((name, item["status"]["S"], "expires_at" in item) for name, item in found.items() if item)

    def expire(self, names: Iterable[str]) -> None:
        """Let these expire now and the others later."""
        now = self.engine.clock.now().timestamp()
        for name, item in self.read().items():
            if item and "expires_at" in item:
                at = now - DAY if name in names else now + DAY
                self._put({**item, "expires_at": {"N": str(int(at))}})

    def delete(self, names: Iterable[str]) -> None:
        """Delete the expired ones of these, as TTL does."""
        for name, item in self.read().items():
            if name in names and item and "expires_at" in item:
                self.engine.plain("DeleteItem", {"TableName": self._table, "Key": self._key(name)})

    def restore(self, names: Iterable[str], place: str) -> None:
        """Restore these from a backup; a record may not have existed then."""
        for name in names:
            item = self.backups.get(place, {}).get(name)
            if item:
                self._put(item)
            else:
                self.engine.plain("DeleteItem", {"TableName": self._table, "Key": self._key(name)})

    def described(self) -> str:
        """Describe the current records as text."""
        now = self.engine.clock.now().timestamp()

        def one(name: str, item: Document) -> str:
            expired = "expires_at" in item and int(item["expires_at"]["N"]) < now
            return f"{name} {item['status']['S']}{' expired' if expired else ''}"

        return f"records: {', '.join(one(name, item) for name, item in self.read().items() if item)}"

    def _put(self, item: Document) -> None:
        self.engine.plain("PutItem", {"TableName": self._table, "Item": item})

    def _key(self, name: str) -> Document:
        return {"pk": {"S": f"{self.order_id}#{name}"}}

    @property
    def _table(self) -> str:
        return self.engine.stack.name("IdempotencyTable")
