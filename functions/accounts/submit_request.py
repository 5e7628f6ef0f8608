"""The input of SubmitApplication. Invalid input is rejected here, before anything is written."""

from collections.abc import Iterator
from datetime import date
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, to_builtins

from idempotency import payload_hash
from runtime.validation import parser

from .errors import InvalidApplication
from .setup import ApplicationId

FIRST_BIRTH = date(1900, 1, 1)
# Something to read, and no control character.
_TEXT = r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*\Z"
_UNREADABLE = "not valid Unicode"

type Line = Annotated[str, Meta(max_length=100, pattern=_TEXT)]
type Name = Annotated[str, Meta(max_length=200, pattern=_TEXT)]
# Empty where a country has none. The check of the address knows each country's form.
type PostalCode = Annotated[str, Meta(max_length=16, pattern=r"^[^\x00-\x1f\x7f]*\Z")]
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
    yield from (f"{path}: {_UNREADABLE}" for path, text in _texts(request.fields) if not _is_unicode(text))
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


def _texts(fields: dict[str, Any]) -> list[tuple[str, str]]:
    nested = [(f"address.{name}", text) for name, text in fields["address"].items()]
    return [*((name, text) for name, text in fields.items() if isinstance(text, str)), *nested]


def _is_unicode(text: str) -> bool:
    """DynamoDB takes UTF-8, and JSON may hold half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
