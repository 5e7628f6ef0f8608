"""A ZIP of CSV files, read by ranges: refused as a whole, with a reason, or read once from start to end.

Each byte of the data is fetched once, and inflated once. Memory does not grow with the archive or with an entry.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from .archive_data import inflated, require_same_descriptor, require_same_header
from .archive_members import Member, members_of
from .ranged_file import RangedFile, Read


@dataclass(frozen=True, slots=True)
class Entry:
    """number: 1 for the first file of the central directory. name: its path. size: in bytes, inflated."""

    number: int
    name: str
    size: int


class Archive:
    """Raises ArchiveRefused, with what the central directory shows, or what `read` raises.

    read: the bytes of the object at (offset, length). size: of the object.
    """

    def __init__(self, read: Read, size: int) -> None:
        self._file = RangedFile(read, size)
        self._members = members_of(self._file)

    @property
    def entries(self) -> list[Entry]:
        """The files to import, without directories and what macOS adds, by number."""
        return sorted((_entry(one) for one in self._members if one.number), key=lambda entry: entry.number)

    def contents(self) -> Iterator[tuple[Entry, Iterator[bytes]]]:
        """Each file with its bytes, in the order of the data. An entry is read to its end before the next one.

        Raises ArchiveRefused for a lie that only the data shows: what was written until then must be deleted.
        """
        for member in self._members:
            start = require_same_header(self._file, member)
            if member.number:
                chunks = inflated(self._file, member, start)
                yield _entry(member), chunks
                for _ in chunks:
                    pass  # A caller that stopped early has checked nothing.
            require_same_descriptor(self._file, member, start + member.packed)


def _entry(member: Member) -> Entry:
    return Entry(member.number, member.name, member.size)
