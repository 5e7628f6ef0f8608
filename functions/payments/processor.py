"""What payments asks of an outside gateway."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Charge:
    """What is to be charged once. key: of all its attempts, at the processor. amount: in the currency's minor unit."""

    order_id: str
    key: str
    amount: int
    currency: str
    token: str = field(repr=False)


class Processor(Protocol):
    """Charges, and takes charges back, by key."""

    def charge(self, charge: Charge, *, deadline: datetime) -> str:
        """Charge once, however often it is called. Returns the processor's own id of the charge.

        deadline: when the invocation ends, aware UTC.
        Raises PaymentDeclined, or a TransientError: then it may have charged.
        """
        ...

    def cancel(self, key: str) -> None:
        """See to it that nothing is charged under the key, now or ever; give back what was. May be called again."""
        ...
