"""The applications of a schedule, and how its reviewers decide."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from accounts.bank import account_number
from tests.faults.people.processor import SECRET
from tests.faults.people.schedule import Schedule
from tests.faults.seams import Document

APPROVE, REJECT = "approve", "reject"
PERSONAL = (
    *("Zuse", "Geheimweg", "Babelsberg", "1987-06-05", "1988-07-06", "UNIQUE#", "UNIQUE2#"),
    *(account_number(SECRET, f"a-{number}") for number in (1, 2)),
)
"""Parts of names, addresses, dates of birth and their hashes, and the account numbers."""
PDF = b"%PDF-1.7 "
GROUP, REQUESTER = "account-opening", "machine:account-opening"
# Names of one person. The previous release knows the first ones as one text.
_SPELLINGS = ("Konrad Zuse", "KONRAD  zuse", "\uff2bonrad\u00a0Zuse")
_MORE_SPELLINGS = ("Zuse, Konrad", "Kon\u200brad Zuse", "Ko\u0301nrad Zuse", "K\u3164onrad Zuse", "Konra'd Zuse")
_DAY = 86_400.0
_CROWDED = 0.5


@dataclass(frozen=True, slots=True)
class Application:
    """An application. request: input of SubmitApplication. document: None if there is none.

    newer: a later version of the document, and its moment.
    callers: moments of SubmitApplication calls; other: which of them sends a different payload, or None.
    """

    request: Document
    document: bytes | None
    callers: Sequence[float]
    other: float | None
    newer: tuple[float, bytes] | None = None

    @property
    def other_request(self) -> Document:
        return {**self.request, "name": "Konrad Zuse der Andere"}


@dataclass(frozen=True, slots=True)
class Review:
    """A review of a waiting approval.

    It comes after this many seconds, or this many before (-) or after (+) the due time.
    times: how often the decision is repeated. groups: those of a token, to decide over HTTP; else None.
    """

    by: str
    decision: str
    after: float | None
    around_due: float
    times: int
    groups: Sequence[str] | None = None

    @property
    def barred(self) -> bool:
        """True if this person must not decide."""
        return self.by.casefold() == REQUESTER or (self.groups is not None and GROUP not in self.groups)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a schedule. processor: whether there is a card processor; otherwise CardsTable is the truth.

    crowded: whether all have one address, whose limit is one customer.
    older: until when functions of the previous release register and remove the customer, by application_id.
    """

    applications: Sequence[Application]
    reviews: Sequence[Review]
    processor: bool
    older: Mapping[str, float]
    crowded: bool

    @property
    def barred(self) -> set[str]:
        """Return the names of those who must not decide."""
        return {one.by for one in self.reviews if one.barred}

    def label(self, application_id: str) -> str:
        """Return a short name: its number, with what follows the id in an execution's name."""
        return application_id.removeprefix("a-")

    def of(self, application_id: str) -> Application:
        return next(one for one in self.applications if one.request["application_id"] == application_id)


def plan(schedule: Schedule) -> Plan:
    chance = schedule.chance("plan")
    first = _application(chance, 1, 0.0)
    others = []
    if chance.random() < 0.3:
        others.append(_application(chance, 2, chance.choice((0.0, 0.3, 3.0, 60.0)), like=first))
    reviews, spelling = _reviews(chance), schedule.chance("spelling")
    older = {}
    if others and spelling.random() < 0.5:
        older[f"a-{spelling.choice((1, 2))}"] = spelling.choice((1.0, 10.0, 100.0, 10 * _DAY))
    for one in others:
        if one.request["name"] in _SPELLINGS:
            one.request["name"] = spelling.choice(_SPELLINGS if older else _SPELLINGS + _MORE_SPELLINGS)
    crowded = bool(others) and schedule.chance("address").random() < _CROWDED
    for one in others if crowded else ():
        one.request["address"] = first.request["address"]
    reviews += _strangers(schedule.chance("strangers"))
    newer = schedule.chance("newer document")
    applications = [_with_newer(one, newer) for one in (first, *others)]
    return Plan(applications, reviews, schedule.seed % 2 == 1, older, crowded)


def _application(chance: random.Random, number: int, moment: float, like: Application | None = None) -> Application:
    """Plan an application. like: of the same person, or of another one."""
    own_id, same = f"a-{number}", like is not None and chance.random() < 0.6
    document = chance.choice((PDF, PDF, None, b"just text"))
    request = {
        "application_id": own_id,
        "name": "Konrad Zuse" if same or number == 1 else "Horst Zuse",
        "date_of_birth": "1987-06-05" if same or number == 1 else "1988-07-06",
        "address": {"line1": f"Geheimweg {number}", "city": "Babelsberg", "postal_code": "14482", "country": "DE"},
        "document_key": f"documents/{own_id}",
    }
    callers = [moment, *([moment + chance.choice((0.0, 0.05, 30))] if chance.random() < 0.3 else [])]
    other = moment + chance.choice((0.0, 0.02, 40)) if chance.random() < 0.15 else None
    content = document + own_id.encode() if document else None
    return Application(request, content, callers, other)


def _with_newer(one: Application, chance: random.Random) -> Application:
    """Let its applicant replace the document, perhaps while it is checked."""
    if chance.random() < 0.6:
        return one
    content = chance.choice((PDF, b"just text")) + b"newer " + one.request["application_id"].encode()
    return replace(one, newer=(one.callers[0] + chance.choice((0.3, 1.0, 2.0, 4.0, 60.0)), content))


def _reviews(chance: random.Random) -> list[Review]:
    """Plan no reviewer, or up to three, who may decide at once, both ways, twice, or at the due time."""
    number = chance.choice((0, 1, 1, 1, 1, 2, 2, 3))
    moment = chance.choice((0.0, 0.0, 0.5, 60.0, 2 * _DAY))
    mostly = chance.choice((APPROVE, APPROVE, REJECT))
    found = []
    for index in range(number):
        after = None if chance.random() < 0.25 else chance.choice((moment, moment, moment + 20, 3600.0))
        decision = mostly if chance.random() < 0.7 else chance.choice((APPROVE, REJECT))
        around = chance.choice((-1.0, -0.05, 0.0, 0.05, 1.0, 3600.0, 3 * _DAY))
        found.append(Review(f"reviewer-{index + 1}", decision, after, around, chance.choice((1, 1, 1, 2))))
    return found


def _strangers(chance: random.Random) -> list[Review]:
    """Plan people who decide early and mostly must not: the requester, and people with tokens."""
    if chance.random() < 0.7:
        return []
    people: list[tuple[str, Sequence[str] | None]] = [
        (REQUESTER, None),
        (REQUESTER.title(), (GROUP,)),
        ("stranger", ("account", "approvals")),
        ("member of nothing", ()),
        ("member", ("approvals", GROUP)),
    ]
    found = []
    for by, groups in chance.sample(people, chance.choice((1, 2, 3))):
        decision, after = chance.choice((APPROVE, REJECT)), chance.choice((0.0, 0.3, 60.0))
        found.append(Review(by, decision, after, 0.0, chance.choice((1, 2)), groups))
    return found
