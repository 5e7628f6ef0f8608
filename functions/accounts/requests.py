"""Requests to the functions of accounts: types, limits, errors.

Of an applicant's data, the machines carry the application's id alone.
"""

from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, to_builtins

from idempotency import payload_hash
from runtime import text
from runtime.ended import Ended
from runtime.text import normal_name
from runtime.validation import InvalidEvent, parser

from .errors import InvalidApplication

FIRST_BIRTH = date(1900, 1, 1)
_POSTAL_CODE = "address.postal_code"
type ApplicationId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,60}\Z")]
type Line = Annotated[str, Meta(max_length=100)]
type Name = Annotated[str, Meta(max_length=200)]
# Empty where a country has none. The check of the address knows each country's form.
type PostalCode = Annotated[str, Meta(max_length=16)]
type Country = Annotated[str, Meta(pattern=r"^[A-Z]{2}\Z")]
type Day = Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")]


# The machines' inputs


class ApplicationKey(Struct, frozen=True, forbid_unknown_fields=True):
    id: ApplicationId


class AccountSetup(Struct, frozen=True, forbid_unknown_fields=True):
    """The input of account-setup and account-opening: the execution history has no name, address or date of birth."""

    application: ApplicationKey

    @property
    def application_id(self) -> str:
        return self.application.id


class StateInput(Struct, frozen=True, forbid_unknown_fields=True):
    """The payload of a state of account-opening. application_id: the name of the execution."""

    application_id: ApplicationId


class RejectInput(Struct, frozen=True, forbid_unknown_fields=True):
    """decision: of the review; `expired` if nobody has decided."""

    application_id: ApplicationId
    decision: Literal["reject", "expired"]

    @property
    def reason(self) -> str:
        return "ReviewExpired" if self.decision == "expired" else "Rejected"


class OpeningEnded(Ended, frozen=True, rename="camel"):
    """The end of an execution of account-opening, which is named after its application."""

    @property
    def application_id(self) -> str:
        return self.name


parse_setup = parser(AccountSetup, InvalidApplication, "the input")
parse_state = parser(StateInput, InvalidEvent, "the input")
parse_reject = parser(RejectInput, InvalidEvent, "the input")


def setup_input(application_id: str) -> dict[str, Any]:
    """The input of both machines."""
    return {"application": {"id": application_id}}


# SubmitApplication


class Address(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """country: two letters, as in ISO 3166-1."""

    line1: Line
    line2: Line | UnsetType = UNSET
    city: Line
    postal_code: PostalCode
    country: Country


class SubmitRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    application_id: ApplicationId
    name: Name
    date_of_birth: Day
    address: Address
    document_key: str

    @property
    def payload_hash(self) -> str:
        """Return the hash that tells a duplicate from another application of this id."""
        return payload_hash(to_builtins(self))

    @property
    def fields(self) -> dict[str, Any]:
        """All fields, as JSON values."""
        found: dict[str, Any] = to_builtins(self)
        return found


_parse = parser(SubmitRequest, InvalidApplication, "the application")


def parse_submit(document: Any) -> SubmitRequest:
    """Read a SubmitRequest from parsed JSON. Raises InvalidApplication, with a line for each field that is wrong."""
    request = _parse(document)
    if problems := list(_problems(request)):
        raise InvalidApplication("\n".join(problems))
    return request


def _problems(request: SubmitRequest) -> Iterator[str]:
    for path, value in _texts(request):
        if (problem := text.problem(value)) and not (path == _POSTAL_CODE and value == ""):
            yield f"{path}: {text.SENTENCES[problem]}"
    if not normal_name(request.name):
        yield "name: has no letter or digit"
    elif text.has_stray_mark(request.name):
        yield "name: has an accent that is on no letter; type it again"
    born = _day(request.date_of_birth)
    if born is None:
        yield "date_of_birth: not a day, as YYYY-MM-DD"
    elif born < FIRST_BIRTH:
        yield f"date_of_birth: before {FIRST_BIRTH}"
    if request.document_key != (key := document_key(request.application_id)):
        yield f"document_key: must be {key}"


def document_key(application_id: str) -> str:
    """Return the required key of the application's document, so that nobody applies with another's document."""
    return f"documents/{application_id}"


def _texts(request: SubmitRequest) -> list[tuple[str, str]]:
    address: dict[str, str] = to_builtins(request.address)
    return [("name", request.name), *((f"address.{name}", value) for name, value in address.items())]


def _day(value: str) -> date | None:
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None
