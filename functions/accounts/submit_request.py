"""The input of SubmitApplication. Invalid input is rejected here, before anything is written."""

from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, to_builtins

from idempotency import payload_hash
from runtime import text
from runtime.text import normal_name
from runtime.validation import parser

from .errors import InvalidApplication
from .setup import ApplicationId

FIRST_BIRTH = date(1900, 1, 1)
_POSTAL_CODE = "address.postal_code"
type Line = Annotated[str, Meta(max_length=100)]
type Name = Annotated[str, Meta(max_length=200)]
# Empty where a country has none. The check of the address knows each country's form.
type PostalCode = Annotated[str, Meta(max_length=16)]
type Country = Annotated[str, Meta(pattern=r"^[A-Z]{2}\Z")]
type Day = Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")]


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
        """What tells a duplicate from another application of this id."""
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
    """Where the application's document must be, so that nobody applies with the document of another."""
    return f"documents/{application_id}"


def _texts(request: SubmitRequest) -> list[tuple[str, str]]:
    address: dict[str, str] = to_builtins(request.address)
    return [("name", request.name), *((f"address.{name}", value) for name, value in address.items())]


def _day(value: str) -> date | None:
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None
