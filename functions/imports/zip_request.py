"""What calls the functions of import-zip."""

from typing import Annotated

from msgspec import Meta

from runtime.validation import InvalidEvent, parser

from .keys import ImportKey
from .request import Job

MAX_ENTRIES = 1_000

type Number = Annotated[int, Meta(ge=1, le=MAX_ENTRIES)]
type Token = Annotated[str, Meta(min_length=1, max_length=2048)]


class EntryTask(Job, frozen=True, forbid_unknown_fields=True):
    """One entry of a ZIP. number: from 1. token: of the callback."""

    number: Number
    token: Token

    @property
    def zip(self) -> ImportKey:
        return ImportKey(self.tenant_code, self.import_id)

    @property
    def child(self) -> ImportKey:
        return child_key(self.zip, self.number)


parse_entry_task = parser(EntryTask, InvalidEvent, "the entry")


def child_key(parent: ImportKey, number: int) -> ImportKey:
    """The key of the import of an entry."""
    return ImportKey(parent.tenant_code, f"{parent.import_id}-{number:04}")
