"""The state of a scenario's run, and its pending late work."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.faults import edges as e
from tests.faults import faults as f
from tests.faults.faults import Fault
from tests.faults.scenario import ORDERS, Scenario
from tests.faults.seams import Document

# A restored record or row may say that nothing happened, or that nothing was undone.
_MEDDLING = f.MEDDLING_KINDS.keys() | {e.RESTORED} | e.ROW_KINDS.keys()
_WITH_OTHER_PAYLOAD = {e.FOREIGN, e.FOREIGN_TWICE, e.FOREIGN_EXECUTION, e.REUSED}

type Late = tuple[Fault, str, Callable[[], object]]


@dataclass(frozen=True, slots=True)
class Point:
    """A place of the run where a fault is possible. id as in `faults`. what: invocation, call, publish, state or rest.

    records: at a place of rest, the status of each record, and whether it expires. rows: the status of each step's row.
    """

    id: str
    what: str
    operation: str = ""
    records: tuple[tuple[str, str, bool], ...] = ()
    rows: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Published:
    topic: str
    state: str
    message: Document


@dataclass
class Notes:
    """The state of a run so far.

    trace: one line per happening. points: where a fault was possible. answered: invocations that returned, by state.
    events: status changes. unlanded, landed: late work that is still in flight, and that has landed.
    injected: its faults so far. undelivered: events that nothing could handle. lifted: an operator has made repairs.
    by_place: the scenario's faults, by place.
    queue: status events of other executions, to be delivered at once. broken: invariants that a call broke.
    tampered: steps whose records were deleted or restored. confirmed: orders that were seen Confirmed.
    stopped: FinalizeOrder and SweepOrders fail. watching: records are noted at each place, for backups and candidates.
    """

    scenario: Scenario
    order_id: str
    trace: list[str] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    published: list[Published] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)
    events: list[Document] = field(default_factory=list)
    unlanded: list[Late] = field(default_factory=list)
    landed: list[Fault] = field(default_factory=list)
    injected: set[Fault] = field(default_factory=set)
    undelivered: int = 0
    queue: list[Document] = field(default_factory=list)
    broken: list[tuple[str, str]] = field(default_factory=list)
    tampered: set[str] = field(default_factory=set)
    confirmed: set[str] = field(default_factory=set)
    in_saga: bool = True
    lifted: bool = False
    stopped: bool = False
    watching: bool = False

    def __post_init__(self) -> None:
        kind = ORDERS[self.scenario.order]
        self.neighbor_id = f"{self.order_id}-n"
        self.document = kind.document(self.order_id)
        self.other = kind.other(self.order_id)
        self.neighbor = kind.neighbor(self.neighbor_id, self.order_id)
        self.stock = kind.stock(self.order_id)
        self.watching |= any(fault.kind in {e.RESTORED, e.ROW_BACK} for fault in self.scenario.faults)
        self.by_place: dict[str, list[Fault]] = {}
        for fault in self.scenario.faults:
            self.by_place.setdefault(fault.at, []).append(fault)
        self._landing_places = {fault.landing for fault in self.scenario.faults if fault.landing}

    def has(self, kind: str, at: str = "") -> bool:
        """True if the fault is in the scenario; it is then noted as injected."""
        fault = Fault(kind, at)
        found = fault in self.by_place.get(at, ())
        if found and fault not in self.injected:
            self.inject(fault)
        return found

    def first(self, kind: str) -> Fault | None:
        """Return the scenario's first fault of a kind, at any place."""
        return next((fault for fault in self.scenario.faults if fault.kind == kind), None)

    def inject(self, fault: Fault) -> None:
        """Note that a fault is injected now."""
        self.injected.add(fault)
        self.say(f"FAULT {fault}")

    def say(self, line: str) -> None:
        self.trace.append(line)

    @property
    def by_gateway(self) -> bool:
        """True if the order is charged at the gateway."""
        return ORDERS[self.scenario.order].gateway

    @property
    def meddled(self) -> bool:
        """True if others have touched the order: it may then be undone although its saga succeeded."""
        return any(fault.kind in _MEDDLING for fault in self.landed)

    @property
    def order_ids(self) -> list[str]:
        """Orders of the run."""
        has_neighbor = any(fault.kind == e.NEIGHBOR for fault in self.landed)
        return [self.order_id, self.neighbor_id] if has_neighbor else [self.order_id]

    def payloads(self, order_id: str) -> list[Document]:
        """Return all payloads sent under an order's id."""
        if order_id == self.neighbor_id:
            return [self.neighbor]
        has_other = any(fault.kind in _WITH_OTHER_PAYLOAD for fault in self.injected)
        return [self.document, self.other] if has_other else [self.document]

    def reached(self, place: str) -> None:
        """Land the late work that is due here."""
        if place not in self._landing_places:
            return
        due = [work for work in self.unlanded if work[0].landing == place]
        for work in due:
            self._land(work)

    def land_in_flight(self) -> None:
        """Land everything that cannot be delayed for days: requests in flight, and hanging invocations."""
        for work in list(self.unlanded):
            fault = work[0]
            if fault.kind in f.REQUEST_LANDING_KINDS or ".call" in fault.at:
                self._land(work)

    def land_all(self) -> bool:
        """Land all pending work; returns whether there was any."""
        due = list(self.unlanded)
        for work in due:
            self._land(work)
        return bool(due)

    def _land(self, work: Late) -> None:
        if work not in self.unlanded:
            return
        self.unlanded.remove(work)
        fault, name, land = work
        self.landed.append(fault)
        self.injected.add(fault)
        self.say(f"{name} lands now")
        land()
