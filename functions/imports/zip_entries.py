"""The entries of a ZIP in ImportsBucket: inflated once, then listed in one object, which is written last."""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from entities.types import Types

from .archive import Archive, Entry
from .files import Files
from .keys import ImportKey
from .state import Import

LIST = "entries.json"
"""Name in an import's folder `work/<import_id>/`."""
_JSON = "application/json"


class ListedEntry(Struct, frozen=True):
    """number: from 1. name: its path in the archive. type: of its rows."""

    number: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Entries:
    files: Files
    types: Types

    def inflate(self, made: Import) -> int:
        """Write every entry and their list. Returns how many there are. Raises ArchiveRefused, BucketUnavailable."""
        source = made.source
        archive = Archive(lambda offset, length: self.files.part(source, offset, length), self.files.size(source))
        for entry, chunks in archive.contents():
            self._write(made.key, entry, chunks)
        listed = [ListedEntry(one.number, one.name, self._type(one.name, made)) for one in archive.entries]
        self.files.put(made.key.work + LIST, msgspec.json.encode(listed), _JSON)
        return len(listed)

    def entry(self, parent: ImportKey, number: int) -> ListedEntry:
        """One entry of a ZIP that was inflated. Raises BucketUnavailable."""
        listed = msgspec.json.decode(self.files.read(parent.work + LIST), type=list[ListedEntry])
        return listed[number - 1]

    def _write(self, key: ImportKey, entry: Entry, chunks: Iterator[bytes]) -> None:
        writer = self.files.writer(entry_key(key, entry.number))
        try:
            for chunk in chunks:
                writer.write(chunk)
        except BaseException:
            writer.abort()
            raise
        writer.close()

    def _type(self, name: str, made: Import) -> str:
        """The start of the file's name, if it is a registered type; otherwise the ZIP's."""
        first = name.rpartition("/")[2].replace("_", ".").partition(".")[0]
        return first if self.types.has(first) else str(made.values["type"])


def entry_key(parent: ImportKey, number: int) -> str:
    """The key of an entry in ImportsBucket."""
    return f"{parent.work}entries/{number:04}.csv"
