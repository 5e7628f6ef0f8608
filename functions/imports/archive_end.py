"""The end records of an archive, read strictly: what two readers could understand in two ways is refused.

`zipfile` takes the last signature, believes the ZIP64 record without comparing it, and does not compare counts.
Layout: APPNOTE.TXT 6.3.10, sections 4.3.14 to 4.3.16.
"""

from dataclasses import dataclass
from struct import Struct

from .archive_errors import CorruptDirectory, EmptyArchive, NotAnArchive, SplitArchive, TooManyEntries
from .ranged_file import RangedFile

MAX_ENTRIES = 1_000

_AGAIN = "zip the files again"
_END = Struct("<4s4H2LH")
_LOCATOR = Struct("<4sLQL")
_END_64 = Struct("<4sQ2H2L4Q")
_SIGNATURE, _LOCATOR_SIGNATURE, _SIGNATURE_64 = b"PK\5\6", b"PK\6\7", b"PK\6\6"
_MAX_COMMENT = 0xFFFF
# "See the ZIP64 record", for a disk, disk, count, count, size and offset.
_ELSEWHERE = (0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Directory:
    """Where the central directory is, in bytes, and how many entries it says it has."""

    offset: int
    size: int
    count: int


def directory_of(file: RangedFile) -> Directory:
    """Raises NotAnArchive, SplitArchive, CorruptDirectory, TooManyEntries or EmptyArchive."""
    tail = _tail(file)
    at = _end_record(tail)
    values = _END.unpack_from(tail, at)[1:7]
    values, start = _with_zip64(tail, at, values, file.size - len(tail))
    disk, disk_of_directory, on_disk, count, size, offset = values
    if disk or disk_of_directory or on_disk != count:
        raise SplitArchive("the archive is one part of a split archive; zip the files into one file")
    if offset + size != start:
        raise CorruptDirectory(f"the central directory is not where the end record says; {_AGAIN}, without a program")
    if count > MAX_ENTRIES:
        raise TooManyEntries(f"{count} entries, and at most {MAX_ENTRIES} are allowed; split the archive")
    if not count:
        raise EmptyArchive("the archive has no entries; put one CSV file or more into it")
    return Directory(offset, size, count)


def _tail(file: RangedFile) -> bytes:
    length = min(file.size, _MAX_COMMENT + _END.size + _LOCATOR.size + _END_64.size)
    file.seek(file.size - length)
    return file.read(length)


def _end_record(tail: bytes) -> int:
    """The place of the one end record. A second one, or one inside the comment, is refused."""
    at = tail.rfind(_SIGNATURE)
    if at < 0 or at + _END.size > len(tail):
        raise NotAnArchive("the file has no end record of a ZIP: it is no ZIP or was cut; upload the whole ZIP")
    candidates = [at]
    while (at := tail.rfind(_SIGNATURE, 0, at)) >= 0:
        candidates.append(at)
    fitting = [one for one in candidates if one + _END.size <= len(tail) and _ends_the_file(tail, one)]
    if fitting != candidates[:1]:
        raise CorruptDirectory(f"the archive has more than one end record, or bytes after it; {_AGAIN}")
    return fitting[0]


def _ends_the_file(tail: bytes, at: int) -> bool:
    comment: int = _END.unpack_from(tail, at)[7]
    return at + _END.size + comment == len(tail)


def _with_zip64(tail: bytes, at: int, values: tuple[int, ...], base: int) -> tuple[tuple[int, ...], int]:
    """The values with those of the ZIP64 record, and where the end records start in the file."""
    marked = [value == mark for value, mark in zip(values, _ELSEWHERE, strict=True)]
    before = at - _LOCATOR.size
    if before < 0 or not tail.startswith(_LOCATOR_SIGNATURE, before):
        if any(marked[2:]):
            raise CorruptDirectory(f"the end record points to a ZIP64 record that is missing; {_AGAIN}")
        return values, base + at
    _, disk, offset, disks = _LOCATOR.unpack_from(tail, before)
    record = before - _END_64.size
    if disk or disks > 1:
        raise SplitArchive("the archive is one part of a split archive; zip the files into one file")
    if record < 0 or offset != base + record or not tail.startswith(_SIGNATURE_64, record):
        raise CorruptDirectory(f"the ZIP64 record is not where its locator says; {_AGAIN}")
    found = _END_64.unpack_from(tail, record)
    length, large = found[1], found[4:]
    if length != _END_64.size - 12 or any(
        value != other for value, other, elsewhere in zip(values, large, marked, strict=True) if not elsewhere
    ):
        raise CorruptDirectory(f"the end record and the ZIP64 record disagree; {_AGAIN}")
    return large, base + record
