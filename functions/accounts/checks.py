"""The automated checks: rules over the stack's own data. A check that flags puts the application in review."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice
from typing import Any

from .applications import Application
from .definition import APPROVED
from .documents import Documents
from .openings import Neighbour, Openings
from .people import address_keys
from .reasons import Reason, finding
from .screening import Limits, ScreeningTable

# Of an address with more applications than this, the older ones are not counted. No limit is higher.
_MAX_NEIGHBOURS = 2000

type Check = Callable[[Application], Iterable[Reason]]


def run_check(
    openings: Openings, application_id: str, check: Check, at: datetime, own: Collection[Reason] = ()
) -> dict[str, Any]:
    """Returns {"flagged", "reasons"}. An application whose flag is returned is in review already.

    own: reasons that only this check flags. Those that a try whose answer was lost has flagged are returned, too.
    Raises StaleApplication, and as `check`.
    """
    application = openings.undecided(application_id)
    reasons = list(check(application))
    if reasons:
        openings.flag(application_id, reasons, at)
    return finding([*reasons, *sorted(one for one in own if one in application.flags and one not in reasons)])


@dataclass(frozen=True, slots=True)
class IdentityCheck:
    """pin: stores which version of an application's document is checked; see Openings.pin_document."""

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

    openings: Openings
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

    def _neighbours(self, address: Mapping[str, str]) -> Iterable[Neighbour]:
        found = chain.from_iterable(map(self.openings.at_address, address_keys(address)))
        return islice(found, _MAX_NEIGHBOURS)


def too_many(application: Application, neighbours: Iterable[Neighbour], limits: Limits) -> bool:
    """Return whether others from the address have reached a limit: of applications of late, or of customers.

    An earlier application that is not decided counts as a customer: of many at once, each would see none otherwise.
    """
    # While a row is rewritten, the index may have it under both of its keys.
    others = {
        one.application_id: one for one in neighbours if one.application_id != application.application_id
    }.values()
    since = datetime.fromisoformat(application.submitted_at) - timedelta(days=limits.days)
    applied = sum(one.submitted_at >= since for one in others)
    place = datetime.fromisoformat(application.submitted_at), application.application_id
    customers = sum(
        one.status == APPROVED or (one.undecided and (one.submitted_at, one.application_id) < place) for one in others
    )
    return applied >= limits.applications or customers >= limits.customers
