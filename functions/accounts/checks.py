"""The automated checks: rules over the stack's own data. A check that flags puts the application in review."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice
from typing import Any

from runtime.text import normal_words

from .definition import APPROVED
from .documents import Documents
from .people import address_keys
from .screening import Limits, ScreeningTable
from .state import Application, Reason
from .table import Applications

IDENTITY = frozenset(
    {Reason.DOCUMENT_MISSING, Reason.DOCUMENT_TYPE, Reason.DOCUMENT_TOO_LARGE, Reason.DOCUMENT_USED_BEFORE}
)
ADDRESS = frozenset({Reason.ADDRESS_INCOMPLETE, Reason.POSTAL_CODE_FORM})
FRAUD_MODEL = frozenset({Reason.CUSTOMER_EXISTS, Reason.TOO_MANY_FROM_ADDRESS, Reason.NAME_BARRED})
"""The reasons that each check may flag."""
# Maximum number of applications counted per address; older ones are ignored. No limit is higher.
_MAX_NEIGHBOURS = 2000


type Check = Callable[[Application], Iterable[Reason]]


def run_check(
    applications: Applications, application_id: str, check: Check, at: datetime, known: Collection[Reason] = ()
) -> dict[str, Any]:
    """Run a check. Returns {"flagged", "reasons"}. An application whose flag is returned is in review already.

    known: reasons that only this check flags. Those that a try whose answer was lost has flagged are returned, too.
    Raises StaleApplication, and as `check`.
    """
    application = applications.undecided(application_id)
    reasons = list(check(application))
    if reasons:
        applications.flag(application_id, reasons, at)
    earlier = sorted(reason for reason in known if reason in application.flags and reason not in reasons)
    codes = [str(reason) for reason in (*reasons, *earlier)]
    return {"flagged": bool(codes), "reasons": codes}


@dataclass(frozen=True, slots=True)
class IdentityCheck:
    """pin: stores which version of an application's document is checked; see Applications.pin_document."""

    documents: Documents
    screening: ScreeningTable
    pin: Callable[[str, str], str]

    def __call__(self, application: Application) -> Iterator[Reason]:
        """The reasons to flag the document. Raises BucketUnavailable, StoreUnavailable, StaleApplication."""
        pin = partial(self.pin, application.application_id)
        document = self.documents.find(application.document_key, application.document_version, pin)
        if document is None:
            yield Reason.DOCUMENT_MISSING
            return
        if not document.known:
            yield Reason.DOCUMENT_TYPE
        if document.digest is None:
            yield Reason.DOCUMENT_TOO_LARGE
        elif not self.screening.is_first_use(document.digest, application.application_id):
            yield Reason.DOCUMENT_USED_BEFORE


@dataclass(frozen=True, slots=True)
class FraudCheck:
    """is_customer: whether another application has made this person a customer."""

    applications: Applications
    screening: ScreeningTable
    is_customer: Callable[[Application], bool]

    def __call__(self, application: Application) -> Iterator[Reason]:
        """The reasons to flag the applicant. Raises StoreUnavailable."""
        if self.is_customer(application):
            yield Reason.CUSTOMER_EXISTS
        if too_many(application, self._neighbours(application.address), Limits.of(self.screening.limits())):
            yield Reason.TOO_MANY_FROM_ADDRESS
        if self.screening.is_barred(application.name):
            yield Reason.NAME_BARRED

    def _neighbours(self, address: Mapping[str, str]) -> Iterable[Application]:
        found = chain.from_iterable(map(self.applications.at_address, address_keys(address)))
        return islice(found, _MAX_NEIGHBOURS)


def too_many(application: Application, neighbours: Iterable[Application], limits: Limits) -> bool:
    """Return whether others from the address have reached a limit: of applications of late, or of customers.

    An earlier application that is not decided counts as a customer: of many at once, each would see none otherwise.
    """
    # While a row is rewritten, the index may have it under both of its keys.
    by_id = {other.application_id: other for other in neighbours}
    by_id.pop(application.application_id, None)
    others = by_id.values()
    since = application.submitted_at - timedelta(days=limits.days)
    applied = sum(other.submitted_at >= since for other in others)
    customers = sum(
        other.status == APPROVED or (other.undecided and other.place < application.place) for other in others
    )
    return applied >= limits.applications or customers >= limits.customers


# The address: is it complete, and has its postal code the form of its country?

# https://en.wikipedia.org/wiki/List_of_postal_codes; spaces at the ends are ignored, and so is case.
_FORMS = {
    "AT": r"\d{4}",
    "AU": r"\d{4}",
    "BE": r"\d{4}",
    "BR": r"\d{5}-?\d{3}",
    "CA": r"[A-Z]\d[A-Z] ?\d[A-Z]\d",
    "CH": r"\d{4}",
    "CN": r"\d{6}",
    "DE": r"\d{5}",
    "DK": r"\d{4}",
    "ES": r"\d{5}",
    "FI": r"\d{5}",
    "FR": r"\d{5}",
    "GB": r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}",
    "IE": r"[A-Z]\d[\dW] ?[A-Z\d]{4}",
    "IN": r"\d{3} ?\d{3}",
    "IT": r"\d{5}",
    "JP": r"\d{3}-?\d{4}",
    "KR": r"\d{5}",
    "NL": r"\d{4} ?[A-Z]{2}",
    "NO": r"\d{4}",
    "NZ": r"\d{4}",
    "PL": r"\d{2}-\d{3}",
    "PT": r"\d{4}-\d{3}",
    "SE": r"\d{3} ?\d{2}",
    "SG": r"\d{6}",
    "US": r"\d{5}(-\d{4})?",
}
_OTHERS = r"[A-Z\d][A-Z\d -]{0,10}"
_WITHOUT = frozenset({"AE", "AO", "BS", "BZ", "FJ", "HK", "MO", "QA", "UG", "ZW"})
# One sign, or none, is a placeholder.
_MIN_SIGNS = 2


def address_reasons(address: Mapping[str, str]) -> Iterator[Reason]:
    """The reasons to flag an address."""
    code, country = address["postal_code"].strip().upper(), address["country"]
    if (not code and country not in _WITHOUT) or any(_is_placeholder(address[name]) for name in ("line1", "city")):
        yield Reason.ADDRESS_INCOMPLETE
    if code and not re.fullmatch(_FORMS.get(country, _OTHERS), code, re.ASCII):
        yield Reason.POSTAL_CODE_FORM


def _is_placeholder(text: str) -> bool:
    return len("".join(normal_words(text))) < _MIN_SIGNS
