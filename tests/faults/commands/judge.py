"""The invariants of commands: at each write, and at the end. It knows the rows from the writes, not from the code."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from boto3.dynamodb.types import TypeDeserializer

from entities.command import Attempt, Key
from tests.faults.commands.schedule import PK, SK, Publication
from tests.faults.seams import Document

if TYPE_CHECKING:
    from tests.faults.commands.run import Run

GATE = "the gate moves by one, and its commands with it"
DATA = "data holds the highest finished version that was not skipped"
HISTORY = "history holds every version that was replaced, once"
BACK = "no target goes back"
ONE_ROW = "ProductsTable shows a product once, where its pointer says"
SHOWN = "a target shows what its version says"
ORDER = "no version starts its targets before its predecessor has finished or was skipped"
DEAD = "a version is dead only if its attempt has ended"
FINAL = "what has finished never changes"
ENDS = "each command ends finished or skipped, or is listed, failed or behind a failed one"
WAITS = "no command waits for more than 5 s, or 5 minutes and 10 s if an event was lost"
LISTED = "a dead version is listed within 5 s, or 5 minutes and 10 s if an event was lost"
ALARM = "an execution that fails raises an alarm, and a stale one does not"
CURRENT = "rebuilt targets show the data"
ANSWERS = "each publication makes one version, and its own"

_AT_ONCE, _SWEPT, _SWEEP = 5.0, 310.0, 300.0
_deserialize = TypeDeserializer().deserialize


class Judge:
    """violations: (invariant, detail) in order. outcomes, calls, kinds of ends: what was reached."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.violations: list[tuple[str, str]] = []
        self.rows: dict[str, dict[tuple[str, str], Document]] = defaultdict(dict)
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.calls: Counter[tuple[str, str]] = Counter()
        self.hits: Counter[tuple[str, str, str]] = Counter()
        self.states: set[str] = set()
        self.starts: list[int] = []
        self.catalog = 0
        self.shown: Document = {}
        self._documents: dict[int, Document] = {}
        self._ready: dict[int, float] = {}
        self._dead: set[int] = set()
        self._ended_at: dict[int, float] = {}
        self._changed = False
        self._turned = 0.0

    def broken(self, invariant: str, detail: str) -> None:
        if (invariant, detail) not in self.violations:
            self.violations.append((invariant, detail))
            self.run.say(f"VIOLATION {invariant}: {detail}")

    # What the rows say.

    @property
    def gate(self) -> Document | None:
        """In DynamoDB's own JSON."""
        return self.rows["GatesTable"].get((PK, SK))

    @property
    def data(self) -> Document | None:
        return self.rows["DataTable"].get((PK, SK))

    @property
    def finished(self) -> int:
        return int(self.gate["finished"]["N"]) if self.gate else 0

    @property
    def newest(self) -> int:
        """The newest published version."""
        return int(self.gate["published"]["N"]) if self.gate else 0

    @property
    def dead(self) -> set[int]:
        return set(map(int, (self.gate or {}).get("dead", {}).get("NS", ())))

    @property
    def blocked(self) -> bool:
        return self.finished + 1 in self.dead

    def command(self, version: int) -> Document:
        return self.rows["CommandsTable"].get((PK, f"{SK}@{version}"), {})

    def status(self, version: int) -> str:
        return str(self.command(version).get("status", {}).get("S", ""))

    def name(self, version: int, attempt: int) -> str:
        return Attempt(Key(PK, SK), version, attempt).name

    # At each write.

    def wrote(self, table: str, old: Document | None, new: Document | None) -> None:
        """A row was written; its transaction may go on."""
        item = new or old or {}
        key = (item["pk"]["S"], item["sk"]["S"]) if "sk" in item else (item["pk"]["S"], "")
        self._changed = True
        if table == "CommandsTable" and old and _ended(old) and old != new:
            self.broken(FINAL, f"{key[1]} was {old['status']['S']}")
        if table == "HistoryTable" and old:
            self.broken(HISTORY, f"{key[1]} was written twice")
        if table == "GatesTable" and new:
            self._gate_moved(self.rows[table].get(key), new)
        if table == "ProductsTable" and key == (PK, SK) and new:
            self._target("products", int(self.rows[table].get(key, {}).get("version", {}).get("N", 0)), new)
        if new is None:
            self.rows[table].pop(key, None)
            if table in {"GatesTable", "DataTable", "CommandsTable", "HistoryTable"}:
                self.broken(FINAL, f"{key[1]} was removed from {table}")
        else:
            self.rows[table][key] = new

    def stored(self, body: bytes, status: int) -> None:
        """An answer of S3. body: of the write."""
        if status == 200:
            new = json.loads(body)
            self._target("catalog", self.catalog, {"version": {"N": str(new["version"])}})
            self.catalog, self.shown = new["version"], new

    def _target(self, name: str, before: int, new: Document) -> None:
        version = int(new["version"]["N"])
        newer = range(version + 1, before + 1)
        skipped = self.run.rebuilding and all(self.status(one) == "finish:SKIPPED" for one in newer)
        if version <= before and not (newer and skipped):
            self.broken(BACK, f"{name} from version {before} to {version}")
        if self.finished < version - 1:
            self.broken(ORDER, f"{name} shows version {version}, and version {self.finished} has finished")

    def _gate_moved(self, old: Document | None, new: Document) -> None:
        for field in ("published", "finished"):
            before, after = int(old[field]["N"]) if old else 0, int(new[field]["N"])
            if not before <= after <= before + 1:
                self.broken(GATE, f"{field} from {before} to {after}")
            if field == "finished" and after > before:
                self._turned = self.run.simulation.now

    def moment(self) -> None:
        """A request has been carried out: all of its writes, or none."""
        if not self._changed:
            return
        self._changed = False
        if self.gate:
            self._check_commands()
            self._check_data()
            self._check_products()
            self._check_dead()
            self._note_turn()
        self.states.add(self.described())

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
            if "expires_at" in self.command(version) and not _ended(self.command(version)):
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
            if _plain(self.data["attributes"]) != self._attributes(now, before):
                self.broken(DATA, f"version {now} does not hold what it was to hold")
        if self.data and self._documents[now] != self.data:
            self.broken(DATA, f"version {now} was written twice")
        history = {key[1].rpartition("@")[2]: row for key, row in self.rows["HistoryTable"].items()}
        if sorted(map(int, history)) != sorted(done[:-1]):
            self.broken(HISTORY, f"has {sorted(history)}; replaced are {done[:-1]}")
            return
        for version, row in history.items():
            if {**row, "sk": {"S": SK}} != self._documents.get(int(version)):
                self.broken(HISTORY, f"the copy of version {version} is not what was replaced")

    def _attributes(self, version: int, before: Document) -> Any:
        command = self.command(version)
        given = _plain(command["attributes"])
        if not command["merge"]["BOOL"]:
            return given
        older = _plain(before["attributes"]) if before else {}
        return {name: value for name, value in {**older, **given}.items() if given.get(name, 0) is not None}

    def _check_products(self) -> None:
        pointer = self.rows["ProductsTable"].get((PK, SK))
        shown = {key[0].rpartition("#")[2]: row for key, row in self.rows["ProductsTable"].items() if key[0] != PK}
        if pointer is None:
            wanted = {}
        else:
            wanted = {} if pointer["deleted"]["BOOL"] else {pointer["category"]["S"]: pointer["version"]["N"]}
        if {category: row["version"]["N"] for category, row in shown.items()} != wanted:
            found = {category: row["version"]["N"] for category, row in shown.items()}
            self.broken(ONE_ROW, f"rows {found}, pointer {wanted}")

    def _check_dead(self) -> None:
        for version in self.dead - self._dead:
            attempt = int(self.command(version)["attempt"]["N"])
            execution = self.run.engine.execution(self.name(version, attempt))
            if execution is None or execution["status"] in {"RUNNING", "SUCCEEDED"}:
                self.broken(DEAD, f"version {version} is dead, its attempt {attempt} is not")
            if version == self.finished + 1:
                self._in_time(LISTED, version, max(self._ended_at.get(version, 0), self._turned))
            self._ready.pop(version, None)
            self.run.when_dead()
        self._dead = self.dead

    # Who waits.

    def _note_turn(self) -> None:
        turn = self.finished + 1
        for version in [one for one in self._ready if one < turn]:
            # Finished or skipped: an attempt may have died on the way.
            del self._ready[version]
        if turn <= self.newest and turn not in self.dead and turn not in self._ready:
            self._ready[turn] = self.run.simulation.now

    def entered(self, state: str, version: int) -> None:
        """An execution enters a state."""
        if state == "check_version":
            self.starts.append(version)
        if state == "set_ttl_command" and version in self._ready:
            self._in_time(WAITS, version, self._ready[version])
            self._ready[version] = float("inf")

    def ended(self, version: int, attempt: int, status: str, error: str) -> None:
        """An execution has ended."""
        told = any(self.name(version, attempt) in notice for notice in self.run.notices)
        # No Catch sees States.Runtime; an alarm on the executions does.
        if status == "FAILED" and error != "States.Runtime" and told == (error == "StaleCommand"):
            self.broken(ALARM, f"version {version}, attempt {attempt}: {error}, told: {told}")
        own = int(self.command(version)["attempt"]["N"]) == attempt
        if own and status != "SUCCEEDED" and version > self.finished:
            self._ended_at[version] = self.run.simulation.now

    def _in_time(self, invariant: str, version: int, since: float) -> None:
        run = self.run
        most = run.excess + (_SWEPT + _SWEEP * run.sweep_faults if run.disturbed else _AT_ONCE)
        waited = run.simulation.now - since
        if waited > most:
            self.broken(invariant, f"version {version}: {waited:.1f} s, at most {most:.1f} s")

    # At the end.

    def refused(self, publication: Publication, answer: Document) -> None:
        self.broken(ANSWERS, f"version {publication.version} was refused: {answer['errorMessage']}")

    def unanswered(self, name: str) -> None:
        self.broken(ANSWERS, f"{name} gets no answer that is final")

    def at_rest(self) -> None:
        """Nothing happens by itself any more but for sweeps, and an operator has not come yet."""
        if self.finished == self.newest:
            return
        if not self.blocked:
            self.broken(ENDS, f"version {self.finished + 1} is {self.status(self.finished + 1)}, and nothing happens")
        elif self.run.swept is not None and not self.run.swept["blocked"]:
            self.broken(ENDS, "the sweep counts no blocked key")

    def at_last(self) -> None:
        """Everything has been delivered, and an operator has retried or skipped what was listed."""
        for execution in self.run.engine.executions():
            if execution["status"] == "RUNNING":
                self.broken(ENDS, f"an execution waits forever: {execution['input']}")
        if self.finished < self.newest or self.dead or "pending_since" in (self.gate or {}):
            self.broken(ENDS, f"the gate has {self.finished} of {self.newest}, dead {sorted(self.dead)}")
        if sorted(self.run.published) != list(range(1, self.newest + 1)) or max(self.run.published.values()) > 1:
            self.broken(ANSWERS, f"{dict(self.run.published)} of {self.newest} versions")

    def rebuilt(self) -> None:
        """An operator has rebuilt every target."""
        data = self.data
        if data is None:
            return
        version, attributes = int(data["version"]["N"]), _plain(data["attributes"])
        pointer = self.rows["ProductsTable"].get((PK, SK), {"version": {"N": "0"}})
        for name, shown in (("products", int(pointer["version"]["N"])), ("catalog", self.catalog)):
            if shown != version:
                self.broken(CURRENT, f"{name} shows version {shown}, the data {version}")
                return
        deleted = data["deleted"]["BOOL"]
        wanted = None if deleted else (data["name"]["S"], attributes["price"], attributes.get("available", True))
        rows = [_plain({"M": row}) for key, row in self.rows["ProductsTable"].items() if key[0] != PK]
        for name, found in (("products", rows[0] if rows else {}), ("catalog", self.shown)):
            facts = (found["name"], found["price"], found["available"]) if "name" in found else None
            if facts != wanted:
                self.broken(SHOWN, f"{name}: {facts}, not {wanted}")

    def stale_targets(self) -> None:
        """Before a rebuild: a target shows the data, or a newer version that was skipped."""
        data = int(self.data["version"]["N"]) if self.data else 0
        pointer = self.rows["ProductsTable"].get((PK, SK), {"version": {"N": "0"}})
        for name, shown in (("products", int(pointer["version"]["N"])), ("catalog", self.catalog)):
            lagging = name in (self.gate or {}).get("lagging", {}).get("SS", ())
            if shown < data and not lagging:
                self.broken(CURRENT, f"{name} shows version {shown}, the data {data}, and it is not listed")
            if shown > data and self.status(shown) != "finish:SKIPPED":
                self.broken(CURRENT, f"{name} shows version {shown}, which is {self.status(shown)}")

    def ends(self) -> Counter[str]:
        """How many versions ended in which way."""
        return Counter(map(self._end, range(1, self.newest + 1)))

    def _end(self, version: int) -> str:
        command = self.command(version)
        if command["mode"]["S"] == "sync":
            return "synchronous"
        end = {"finish:FINISHED": "finished", "finish:SKIPPED": "skipped"}.get(self.status(version), "neither")
        return f"{end} after a retry" if int(command["attempt"]["N"]) > 1 else end

    def described(self) -> str:
        """The state of the key, without times and numbers of tokens."""
        rows = [self.command(version) for version in range(1, self.newest + 1)]
        commands = " ".join(
            f"{row['status']['S']} {row['attempt']['N']} {len(row.get('tokens', {}).get('SS', ()))}" for row in rows
        )
        pointer = self.rows["ProductsTable"].get((PK, SK), {}).get("version", {}).get("N", 0)
        return f"{self.finished}/{self.newest} {sorted(self.dead)} {commands} {pointer} {self.catalog}"


def _ended(command: Document) -> bool:
    return str(command["status"]["S"]) in {"finish:FINISHED", "finish:SKIPPED"}


def _plain(value: Mapping[str, Any]) -> Any:
    return _deserialize(value)
