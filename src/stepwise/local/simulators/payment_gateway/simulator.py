"""The simulator as a whole: its ledger, the injected faults, and request counts."""

import hmac
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from stepwise.local.simulators.serving import Answer, ConnectionLost, FaultPlan

from . import charges
from .faults import Injection
from .ledger import Charge, Ledger, Movement, MovementKind, standing
from .messages import Request, Work, naming_key, problem

# The number of requests of each kind, by key.
type _Counts = defaultdict[str, Counter[str]]


@dataclass(frozen=True, slots=True)
class Api:
    """The API of a created resource. path: its path. reference: returns the owner of a request.

    row: its row in the report.
    """

    path: str
    work: Callable[[Ledger, Request], Answer]
    reference: Callable[[Ledger, Request], str | None]
    row: Callable[[Charge, dict[str, int]], dict[str, Any]]


CHARGES = Api("charges", charges.work, charges.order_of, charges.row)


@dataclass(eq=False)
class _Period:
    """The state between two resets: a late delivery affects the state of its request."""

    ledger: Ledger
    api: Api
    lock: threading.Lock = field(default_factory=threading.Lock)
    requests: _Counts = field(default_factory=lambda: defaultdict(Counter))
    deliveries: _Counts = field(default_factory=lambda: defaultdict(Counter))
    in_flight: int = 0

    def work(self, request: Request) -> Answer:
        """Do the work itself, without faults."""
        self.count(self.deliveries, request)
        return self.api.work(self.ledger, request)

    def count(self, counts: _Counts, request: Request) -> None:
        with self.lock:
            counts[request.key][request.kind] += 1

    def flying(self, number: int) -> None:
        with self.lock:
            self.in_flight += number

    def later(self, seconds: float, work: Callable[[], object]) -> None:
        """Run the work in another thread, counted as in flight. Its outcome is dropped."""
        self.flying(1)
        thread = threading.Timer(seconds, self._unheard, [work])
        thread.daemon = True
        thread.start()

    def _unheard(self, work: Callable[[], object]) -> None:
        with suppress(ConnectionLost):
            try:
                work()
            finally:
                self.flying(-1)


class Access:
    """Accepts the current secret and the previous one, so that clients can switch. Initially it accepts none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._accepted: tuple[str, ...] = ()

    def rotate(self, secret: str) -> None:
        """Make a secret the current one. Repeating that changes nothing."""
        with self._lock:
            if self._accepted[:1] != (secret,):
                self._accepted = (secret, *self._accepted[:1])

    def allows(self, authorization: str) -> bool:
        """True if the value of an Authorization header is `Bearer` and an accepted secret."""
        known = [f"Bearer {secret}".encode() for secret in self._accepted]
        return any(hmac.compare_digest(authorization.encode(), one) for one in known)


class Simulator:
    """Answers requests like the processor, with the injected faults. Thread-safe.

    access: the secrets that requests need; a reset does not change them.
    empty_ledger: creates the ledger, now and at every reset. api: the created resource.
    """

    def __init__(self, empty_ledger: Callable[[], Ledger] = Ledger, api: Api = CHARGES) -> None:
        self.api = api
        self.access = Access()
        self.faults: FaultPlan[Injection] = FaultPlan()
        self._empty_ledger = empty_ledger
        self._period = _Period(empty_ledger(), api)

    @property
    def ledger(self) -> Ledger:
        return self._period.ledger

    def reset(self) -> None:
        """Forget everything: keys, money, faults. Requests in flight have no effect."""
        self.faults.clear()
        self._period = _Period(self._empty_ledger(), self.api)

    def handle(self, request: Request) -> Answer:
        """Handle a request. Raises ConnectionLost if the client gets no response."""
        period = self._period
        order_id = self.api.reference(period.ledger, request)
        work = naming_key(self._authorized(period.work))
        for one in reversed(self.faults.draw(lambda one: one.matches(request.kind, request.key, order_id))):
            work = one.fault.around(work, period.later)
        period.flying(1)
        try:
            period.count(period.requests, request)
            return work(request)
        finally:
            period.flying(-1)

    def _authorized(self, work: Work) -> Work:
        def authorized(request: Request) -> Answer:
            if not self.access.allows(request.authorization):
                return problem(401, "unauthorized", "the Authorization header has no accepted secret")
            return work(request)

        return authorized

    def report(self, reference: str | None = None) -> dict[str, Any]:
        """Report charges, requests by key, sums by currency, and requests in flight: see `docs/gateway-simulator.md`.

        reference: only data of this order, without requests in flight.
        """
        period = self._period
        with period.lock:
            in_flight = period.in_flight
            requests, deliveries = _plain(period.requests), _plain(period.deliveries)
        found, movements = period.ledger.snapshot()
        if reference is not None:
            found = [charge for charge in found if charge.request and charge.request.order_id == reference]
            keys = {charge.key for charge in found}
            movements = [movement for movement in movements if movement.key in keys]
            requests, deliveries = ({key: of[key] for key in keys & of.keys()} for of in (requests, deliveries))
        moved = Counter((movement.key, movement.kind) for movement in movements)
        return {
            self.api.path: [self.api.row(charge, _counts(charge.key, moved)) for charge in found],
            "requests": requests,
            "deliveries": deliveries,
            "sums": _sums(movements),
            "standing": standing(movements),
            "in_flight": in_flight,
        }


def _plain(counts: _Counts) -> dict[str, dict[str, int]]:
    return {key: dict(of_key) for key, of_key in counts.items()}


def _counts(key: str, moved: Counter[tuple[str, MovementKind]]) -> dict[str, int]:
    return {"captures": moved[key, "capture"], "refunds": moved[key, "refund"]}


def _sums(movements: list[Movement]) -> dict[str, dict[str, int]]:
    sums: dict[str, dict[str, int]] = {}
    for movement in movements:
        of_currency = sums.setdefault(movement.currency, {"captured": 0, "refunded": 0, "standing": 0})
        of_currency["captured" if movement.kind == "capture" else "refunded"] += abs(movement.amount)
        of_currency["standing"] += movement.amount
    return sums
