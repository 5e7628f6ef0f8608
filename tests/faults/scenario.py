"""A scenario: a kind of order and its faults, in a one-line notation."""

from dataclasses import dataclass

from tests.faults.faults import Fault
from tests.faults.subject import SUBJECT

ORDERS = SUBJECT.kinds
is_order = SUBJECT.accepts


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario. order: one of ORDERS."""

    order: str
    faults: tuple[Fault, ...] = ()

    def __str__(self) -> str:
        return f"{self.order}: {'; '.join(map(str, self.faults)) or 'no fault'}"

    @classmethod
    def parse(cls, text: str) -> "Scenario":
        """Parse a scenario. Raises ValueError."""
        order, _, faults = text.partition(":")
        if order not in ORDERS:
            raise ValueError(f"{order!r} is none of the orders: {', '.join(ORDERS)}")
        parts = [part.strip() for part in faults.split(";")]
        return cls(order, tuple(Fault.parse(part) for part in parts if part not in {"", "no fault"}))
