"""The payment gateway's own ledger of an order, which the simulator of a local stack provides."""

import json
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import quote, urlsplit

from .errors import CommandError
from .stack import Stack

_LEDGER = "/_simulator/ledger/"
_SECONDS = 3


class LedgerUnavailable(CommandError):
    """The ledger did not respond."""


@dataclass(frozen=True, slots=True)
class LedgerCharge:
    """One key of the ledger. amount: in the currency's minor unit. captures, refunds: movements of that amount.

    requests: those that clients sent under the key, counted by kind.
    """

    status: str
    amount: int
    currency: str
    captures: int
    refunds: int
    requests: dict[str, int]

    @property
    def standing(self) -> int:
        """Amount that the gateway has captured and not refunded, in the currency's minor unit."""
        return self.amount * (self.captures - self.refunds)


def charges(stack: Stack, order_id: str) -> list[LedgerCharge] | None:
    """Return an order's charges; None if the stack charges at no gateway, or at one that shows no ledger.

    Raises LedgerUnavailable.
    """
    address = stack.services.get("gateway")
    if not address or stack.parameters.get("PaymentGatewayUrl") != address:
        return None
    report = _report(address, order_id)
    return [_charge(one, report["requests"].get(one["key"], {})) for one in report["charges"]]


def _report(address: str, order_id: str) -> Any:
    connection = HTTPConnection(urlsplit(address).netloc, timeout=_SECONDS)
    try:
        connection.request("GET", _LEDGER + quote(order_id, safe=""))
        return json.loads(connection.getresponse().read())
    except (OSError, HTTPException, ValueError) as error:
        raise LedgerUnavailable(f"the gateway's ledger did not answer ({type(error).__name__})") from None
    finally:
        connection.close()


def _charge(one: Any, requests: dict[str, int]) -> LedgerCharge:
    return LedgerCharge(
        one["status"], one["amount"], one.get("currency", ""), one["captures"], one["refunds"], dict(requests)
    )
