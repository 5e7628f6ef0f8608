"""Judges each write of a key."""

import json
from typing import TYPE_CHECKING, Any

from tests.faults.commands.invariants import (
    BACK,
    CURRENT,
    DATA,
    ENDS,
    FINAL,
    GATE,
    HISTORY,
    LAGS,
    ONE_ROW,
    ORDER,
    STATUS,
    TYPE,
)
from tests.faults.commands.ledger import has_ended, plain
from tests.faults.commands.restoring import WAIVED
from tests.faults.commands.waits import Waits
from tests.faults.seams import Document

if TYPE_CHECKING:
    from tests.faults.commands.run import Run


class Judge(Waits):
    """Judges one key: receives each write, and each executed request."""

    def __init__(self, run: "Run", number: int) -> None:
        super().__init__(run, number)
        self._listed: set[str] = set()
        self._documents: dict[int, Document] = {}
        self._changed = False

    def wrote(self, table: str, old: Document | None, new: Document | None) -> None:
        """Judge a written row; its transaction may still be running."""
        item = new or old or {}
        key = (item["pk"]["S"], item["sk"]["S"]) if "sk" in item else (item["pk"]["S"], "")
        self._changed = True
        if table == "CommandsTable" and old and has_ended(old) and old != new:
            if new is None and self._expires(old):
                self.expired.add(int(old["version"]["N"]))
                return
            self.broken(FINAL, f"{key[1]} was {old['status']['S']}")
        if table == "HistoryTable" and old:
            self.broken(HISTORY, f"{key[1]} was written twice")
        if table == "GatesTable" and new:
            self._gate_moved(self.rows[table].get(key), new)
        if table == "ProductsTable" and key == self.own and new:
            self._target("products", self.products, new)
        if new is None:
            self.rows[table].pop(key, None)
            if table in {"GatesTable", "DataTable", "CommandsTable", "HistoryTable"}:
                self.broken(FINAL, f"{key[1]} was removed from {table}")
        else:
            if table == "CommandsTable" and int(new["version"]["N"]) in self.expired:
                self.broken(FINAL, f"{key[1]} is written again, after it expired")
            self.rows[table][key] = new
            if table == "GatesTable":
                self.gate_is(new)

    @property
    def done(self) -> bool:
        """True if every version has ended, by a gate that is not older than its rows."""
        return self.finished == self.newest and self.waived != WAIVED

    def _expires(self, command: Document) -> bool:
        if int(command["version"]["N"]) in self.expired:
            return has_ended(command)
        moment = self.run.present.timestamp()
        return has_ended(command) and int(command.get("expires_at", {}).get("N", 10**12)) <= moment

    def stored(self, body: bytes, status: int) -> None:
        """Judge a response of S3. body: the body of the write."""
        if status == 200:
            new = json.loads(body)
            self._target("catalog", self.catalog, {"version": {"N": str(new["version"])}})
            self.catalog, self.shown = new["version"], new

    def _target(self, name: str, before: int, new: Document) -> None:
        version = int(new["version"]["N"])
        if version <= self.rebuilt[name] and self.status(version) == "finish:SKIPPED":
            self.broken(CURRENT, f"{name} shows version {version}, which was skipped before a rebuild that has ended")
        newer = range(version + 1, before + 1)
        skipped = self.run.rebuilding and all(self.status(one) == "finish:SKIPPED" for one in newer)
        # After a skip, a rebuild writes a version again, so that the condition of a late put fails.
        if version <= before and not skipped:
            self.broken(BACK, f"{name} from version {before} to {version}")
        if self.finished < version - 1:
            self.broken(ORDER, f"{name} shows version {version}, and version {self.finished} has finished")

    def _gate_moved(self, old: Document | None, new: Document) -> None:
        if new["type"]["S"] != "PRODUCT":
            self.broken(TYPE, f"the gate has {new['type']['S']}")
        for field in ("published", "finished"):
            before, after = int(old[field]["N"]) if old else 0, int(new[field]["N"])
            if not before <= after <= before + 1:
                self.broken(GATE, f"{field} from {before} to {after}")
            if field == "finished" and after > before:
                self.turned = self.run.simulation.now

    def moment(self) -> None:
        """Judge the rows after a request, which has made all of its writes, or none."""
        if not self._changed:
            return
        self._changed = False
        if self.waived == WAIVED:
            self._check_replaced()
        elif self.gate:
            self._check_commands()
            self._check_data()
            self._check_products()
            self.check_dead()
            self.note_turn()
            self._check_lagging()
        self.states.add(self.described())

    def _check_lagging(self) -> None:
        for name in (self._listed - self.lagging) & self.behind():
            self.broken(LAGS, f"{name} is taken off the list, and shows an older version than data")
        if self.lagging - self._listed:
            self.run.when_lagging(self)
        self._listed = self.lagging

    def _check_commands(self) -> None:
        for version in range(1, self.newest + 1):
            status = self.status(version)
            if not status:
                self.broken(GATE, f"version {version} is published and has no row")
            elif status.startswith("finish:") and status.endswith(("FINISHED", "SKIPPED")):
                if version > self.finished:
                    self.broken(GATE, f"version {version} is {status}, the gate at {self.finished}")
            elif version <= self.finished:
                self.broken(GATE, f"version {version} is {status}, the gate at {self.finished}")
            if version in self.dead and not status.endswith(":FAILED"):
                self.broken(STATUS, f"version {version} is {status}")
            if "expires_at" in self.command(version) and not has_ended(self.command(version)):
                self.broken(FINAL, f"version {version} expires, and is {status}")
        if self.command(self.newest + 1):
            self.broken(GATE, f"version {self.newest + 1} has a row and is not published")
        if self.finished < self.newest and "pending_since" not in (self.gate or {}):
            self.broken(ENDS, "the key is not listed as pending")

    def _check_data(self) -> None:
        done = [one for one in range(1, self.newest + 1) if self.status(one) == "finish:FINISHED"]
        now = int(self.data["version"]["N"]) if self.data else 0
        if now != max(done, default=0):
            self.broken(DATA, f"version {now}; finished are {done}")
            return
        if self.data and now not in self._documents:
            self._documents[now] = self.data
            before = self._documents.get(done[-2], {}) if len(done) > 1 else {}
            if plain(self.data["attributes"]) != self._attributes(now, before):
                self.broken(DATA, f"version {now} does not hold what it was to hold")
        if self.data and self._documents[now] != self.data:
            self.broken(DATA, f"version {now} was written twice")
        history = {key[1].rpartition("@")[2]: row for key, row in self.rows["HistoryTable"].items()}
        if sorted(map(int, history)) != sorted(done[:-1]):
            self.broken(HISTORY, f"has {sorted(history)}; replaced are {done[:-1]}")
            return
        for version, row in history.items():
            if {**row, "sk": {"S": self.key.sk}} != self._documents.get(int(version)):
                self.broken(HISTORY, f"the copy of version {version} is not what was replaced")

    def _check_replaced(self) -> None:
        """Check the data alone, because the gate is older."""
        now = int(self.data["version"]["N"]) if self.data else 0
        if now < max(self._documents, default=0):
            self.broken(DATA, f"from version {max(self._documents)} to {now}")
        if self.data and self._documents.setdefault(now, self.data) != self.data:
            self.broken(DATA, f"version {now} was written twice")

    def _attributes(self, version: int, before: Document) -> Any:
        command = self.command(version)
        given = plain(command["attributes"])
        if not command["merge"]["BOOL"]:
            return given
        older = plain(before["attributes"]) if before else {}
        return {name: value for name, value in {**older, **given}.items() if given.get(name, 0) is not None}

    def _check_products(self) -> None:
        pointer = self.rows["ProductsTable"].get(self.own)
        shown = {key[0].rpartition("#")[2]: row for key, row in self.rows["ProductsTable"].items() if key != self.own}
        if pointer is None:
            wanted = {}
        else:
            wanted = {} if pointer["deleted"]["BOOL"] else {pointer["category"]["S"]: pointer["version"]["N"]}
        if {category: row["version"]["N"] for category, row in shown.items()} != wanted:
            found = {category: row["version"]["N"] for category, row in shown.items()}
            self.broken(ONE_ROW, f"rows {found}, pointer {wanted}")
