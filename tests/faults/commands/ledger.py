"""The rows of a key, as written and not as the code reads them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Any

from boto3.dynamodb.types import TypeDeserializer

from entities.command import Attempt
from tests.faults.actors.judging import Judging
from tests.faults.commands.plan import KEYS, MARKS
from tests.faults.seams import Document

if TYPE_CHECKING:
    from tests.faults.commands.run import Run

_deserialize = TypeDeserializer().deserialize


class Ledger(Judging["Run"]):
    """The state of one key. number: its position in KEYS.

    rows: by table and key, in DynamoDB's own JSON. gate: the key's. newest: version that was published.
    catalog: the version that the bucket shows; shown: its object.
    rebuilt: by target, the newest finished version when the last complete rebuild began.
    disturbed: whether a fault may cost the five minutes of a sweep. excess: seconds that faults cost.
    published: responses by version. expired: versions whose row TTL has deleted; `rows` still has it.
    states, starts: which were reached. images: all images of the gate, in order.
    restored_at: when the gate was put back.
    waived: invariants that do not apply since then.
    """

    def __init__(self, run: "Run", number: int) -> None:
        super().__init__(run)
        self.number = number
        self.mark = f"{MARKS[number]} "
        self.key = KEYS[number]
        self.own = (self.key.pk, self.key.sk)
        self.disturbed = False
        self.excess = 0.0
        self.published: Counter[int] = Counter()
        self.expired: set[int] = set()
        self.rows: dict[str, dict[tuple[str, str], Document]] = defaultdict(dict)
        self.gate: Document | None = None
        self.finished = 0
        self.newest = 0
        self.dead: set[int] = set()
        self.catalog = 0
        self.rebuilt: Counter[str] = Counter()
        self.shown: Document = {}
        self.states: set[str] = set()
        self.starts: list[int] = []
        self.images: list[Document] = []
        self.restored_at = 0.0
        self.waived: Set[str] = frozenset()

    def broken(self, invariant: str, detail: str) -> None:
        if invariant not in self.waived:
            super().broken(invariant, detail)

    @property
    def data(self) -> Document | None:
        return self.rows["DataTable"].get(self.own)

    def gate_is(self, gate: Document) -> None:
        """Note a written gate."""
        self.gate = gate
        self.images.append(gate)
        self.finished, self.newest = int(gate["finished"]["N"]), int(gate["published"]["N"])
        self.dead = set(map(int, gate.get("dead", {}).get("NS", ())))

    @property
    def blocked(self) -> bool:
        return self.finished + 1 in self.dead

    @property
    def products(self) -> int:
        """Version that ProductsTable shows."""
        return int(self.rows["ProductsTable"].get(self.own, {}).get("version", {}).get("N", 0))

    @property
    def lagging(self) -> set[str]:
        """Names of the listed targets."""
        return set((self.gate or {}).get("lagging", {}).get("SS", ()))

    def behind(self) -> set[str]:
        """Names of the targets that show an older version than data."""
        data = int(self.data["version"]["N"]) if self.data else 0
        return {name for name, shown in (("products", self.products), ("catalog", self.catalog)) if shown < data}

    def command(self, version: int) -> Document:
        return self.rows["CommandsTable"].get((self.key.pk, f"{self.key.sk}@{version}"), {})

    def status(self, version: int) -> str:
        return str(self.command(version).get("status", {}).get("S", ""))

    def name(self, version: int, attempt: int) -> str:
        return Attempt(self.key, version, attempt).name

    def ends(self) -> Counter[str]:
        """Count the ends of versions."""
        return Counter(map(self._end, range(1, self.newest + 1)))

    def _end(self, version: int) -> str:
        command = self.command(version)
        if command["mode"]["S"] == "sync":
            return "synchronous"
        end = {"finish:FINISHED": "finished", "finish:SKIPPED": "skipped"}.get(self.status(version), "neither")
        return f"{end} after a retry" if int(command["attempt"]["N"]) > 1 else end

    def described(self) -> str:
        """Describe the state of the key, without times and numbers of tokens."""
        rows = [self.command(version) for version in range(1, self.newest + 1)]
        commands = " ".join(
            f"{row['status']['S']} {row['attempt']['N']} {len(row.get('tokens', {}).get('SS', ()))}" for row in rows
        )
        return f"{self.finished}/{self.newest} {sorted(self.dead)} {commands} {self.products} {self.catalog}"


def has_ended(command: Document) -> bool:
    return str(command["status"]["S"]) in {"finish:FINISHED", "finish:SKIPPED"}


def plain(value: Mapping[str, Any]) -> Any:
    return _deserialize(value)
