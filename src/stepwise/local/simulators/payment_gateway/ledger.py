"""A card processor's memory: one charge per key, and every movement of money. Thread-safe, without HTTP.

Guarantees for concurrent calls in any order: at most one charge stands for a key, and once a key is
canceled nothing stands for it, whatever was in flight.

With a `retention`, a key is remembered only for that long, as by real processors. After that, a charge with the same
key is a new one, and an earlier cancel does not bar it. A charge that stands can still be found and refunded by key.
"""

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Protocol

PROCESSING: Literal["processing"] = "processing"
SUCCEEDED: Literal["succeeded"] = "succeeded"
DECLINED: Literal["declined"] = "declined"
CANCELED: Literal["canceled"] = "canceled"

type MovementKind = Literal["capture", "refund"]
type Status = Literal["processing", "succeeded", "declined", "canceled"]

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "stepwise/gateway")


_GOOD = frozenset({"tok_visa", "tok_mastercard", "tok_amex", "tok_jcb"})


@dataclass(frozen=True, slots=True)
class Decline:
    """The card is declined. The message never contains the token."""

    code: str
    message: str


_DECLINED = {
    "tok_declined": Decline("card_declined", "the card was declined"),
    "tok_insufficient_funds": Decline("insufficient_funds", "the card has insufficient funds"),
    "tok_expired": Decline("expired_card", "the card has expired"),
}
_UNKNOWN = Decline("card_declined", "this token is not known")


def decline(token: str) -> Decline | None:
    """Return the reason why the token is declined; None if it is accepted."""
    return None if token in _GOOD else _DECLINED.get(token, _UNKNOWN)


class Refusal(Exception):
    """The ledger rejected the call and changed nothing."""

    code: ClassVar[str]


class KeyInUse(Refusal):
    """A request with this key is in progress."""

    code = "key_in_use"


class KeyCanceled(Refusal):
    """The key is canceled forever: no charge with it is or will be in effect."""

    code = "key_canceled"


class KeyReused(Refusal):
    """The key belongs to another request."""

    code = "key_reused"


class KeyedRequest(Protocol):
    """A request under a key. amount: in the currency's minor unit. order_id: the merchant's reference."""

    @property
    def amount(self) -> int: ...

    @property
    def currency(self) -> str: ...

    @property
    def order_id(self) -> str: ...

    def declined(self) -> Decline | None:
        """Return the reason why the processor declines it; None if it accepts."""


@dataclass(frozen=True, slots=True)
class ChargeRequest:
    """Request of a charge. amount: in the currency's minor unit. order_id: the merchant's reference."""

    amount: int
    currency: str
    token: str = field(repr=False)
    order_id: str = ""

    def declined(self) -> Decline | None:
        return decline(self.token)


@dataclass(frozen=True, slots=True)
class Charge:
    """The state of a key.

    request: None if the key was canceled before a charge came. refunded: in the minor unit.
    number: counts the charges under this key; above 1 if the key was forgotten and used again.
    """

    key: str
    status: Status
    request: KeyedRequest | None = None
    decline: Decline | None = None
    refunded: int = 0
    number: int = 1

    @property
    def charge_id(self) -> str:
        name = self.key if self.number == 1 else f"{self.key} {self.number}"
        return f"ch_{uuid.uuid5(_NAMESPACE, name).hex}"


@dataclass(frozen=True, slots=True)
class Movement:
    """A movement of money. amount: positive for a charge, negative for a refund."""

    kind: MovementKind
    key: str
    currency: str
    amount: int


class Ledger:
    """Keys and movements, in memory. A call returns once its effect is visible to every other call.

    retention: seconds after its first use until a key is forgotten; None: never. clock: the time in seconds.
    """

    def __init__(self, retention: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._retention = retention
        self._clock = clock
        self._lock = threading.Lock()
        self._charges: dict[str, Charge] = {}
        self._first_used: dict[str, float] = {}
        self._forgotten: dict[str, list[Charge]] = {}
        self._movements: list[Movement] = []

    def charge(
        self, key: str, request: KeyedRequest, *, working: Callable[[], object] = lambda: None
    ) -> tuple[Charge, bool]:
        """Charge the card, once per key. Returns the outcome, and whether an earlier request produced it.

        working: called while the key is in use, before the decision.
        Raises KeyInUse, KeyCanceled, KeyReused.
        """
        earlier = self.accept(key, request)
        if earlier:
            return earlier, True
        working()
        return self.land(key), False

    def accept(self, key: str, request: KeyedRequest) -> Charge | None:
        """Begin a charge: return the outcome of an earlier request, or None if `land` must follow.

        Raises KeyInUse, KeyCanceled, KeyReused.
        """
        with self._lock:
            known = self._known(key)
            if known is None:
                number = 1 + len(self._forgotten.get(key, []))
                self._remember(Charge(key, PROCESSING, request, number=number))
                return None
        if known.status == CANCELED:
            raise KeyCanceled(key)
        if known.request != request:
            raise KeyReused(key)
        if known.status == PROCESSING:
            raise KeyInUse(key)
        return known

    def land(self, key: str) -> Charge:
        """Complete a charge: decide and move the money, unless the key was canceled meanwhile. Raises KeyCanceled.

        Raises ValueError if no charge with this key is in progress.
        """
        with self._lock:
            known = self._charges.get(key)
            if known and known.status == CANCELED:
                raise KeyCanceled(key)
            if known is None or known.status != PROCESSING or known.request is None:
                raise ValueError("no charge with this key is in progress")
            no = known.request.declined()
            if no is None:
                self._move("capture", key, known.request.currency, known.request.amount)
            self._charges[key] = replace(known, status=DECLINED if no else SUCCEEDED, decline=no)
            return self._charges[key]

    def cancel(self, key: str) -> Charge:
        """Bar the key forever, and refund any amount charged with it. The key need not be known."""
        with self._lock:
            known = self._known(key) or Charge(key, CANCELED)
            forgotten = self._forgotten.get(key, [])
            refunded = known.refunded + sum(self._give_back(charge) for charge in [*forgotten, known])
            self._forgotten[key] = [replace(charge, status=CANCELED) for charge in forgotten]
            self._remember(replace(known, status=CANCELED, refunded=refunded))
            return self._charges[key]

    def lookup(self, key: str) -> Charge | None:
        """Return the state of a key, preferring the charge in effect; None if the key is unknown."""
        with self._lock:
            known = self._known(key)
            if known and known.status == SUCCEEDED:
                return known
            before = (charge for charge in self._forgotten.get(key, []) if charge.status == SUCCEEDED)
            return next(before, known)

    def snapshot(self) -> tuple[list[Charge], list[Movement]]:
        """Return a snapshot of all charges and all movements, each in order."""
        with self._lock:
            before = [charge for charges in self._forgotten.values() for charge in charges]
            return [*before, *self._charges.values()], list(self._movements)

    def _known(self, key: str) -> Charge | None:
        """Return the remembered state of a key. A charge in progress is not forgotten."""
        known = self._charges.get(key)
        if known is None or self._retention is None or known.status == PROCESSING:
            return known
        if self._clock() - self._first_used[key] <= self._retention:
            return known
        del self._charges[key], self._first_used[key]
        if known.request:
            self._forgotten.setdefault(key, []).append(known)
        return None

    def _remember(self, charge: Charge) -> None:
        self._charges[charge.key] = charge
        self._first_used.setdefault(charge.key, self._clock())

    def _give_back(self, charge: Charge) -> int:
        if charge.status != SUCCEEDED or charge.request is None:
            return 0
        self._move("refund", charge.key, charge.request.currency, -charge.request.amount)
        return charge.request.amount

    def _move(self, kind: MovementKind, key: str, currency: str, amount: int) -> None:
        self._movements.append(Movement(kind, key, currency, amount))


def standing(movements: list[Movement]) -> dict[str, list[int]]:
    """Return the amounts of the charges that stand, by key: captures without a refund. More than one is a bug."""
    stands: dict[str, list[int]] = {}
    for movement in movements:
        if movement.kind == "capture":
            stands.setdefault(movement.key, []).append(movement.amount)
        else:
            stands[movement.key].remove(-movement.amount)
    return {key: amounts for key, amounts in stands.items() if amounts}
