"""A ZIP of CSV files, read by ranges: refused as a whole, with a reason, or read once from start to end.

Each byte of the data is fetched once, and inflated once. Memory does not grow with the archive or with an entry. An
entry's own header is compared with the central directory, and its bytes are inflated under limits: `zipfile` compares
only the names of the two, and cuts what inflates to more than the declared size silently.
"""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from zipfile import ZIP_STORED

from .archive_directory import AGAIN, HAS_DESCRIPTOR, HEADER_SIZE, Member, RangedFile, Read, members_of
from .codes import shown
from .errors import (
    CorruptData,
    CorruptDirectory,
    HeaderMismatch,
    NestedArchive,
    NotCsv,
    OverlappingEntries,
    WrongCrc,
    WrongSize,
)

_PIECE = 256 * 1024
_MAX_CHUNK = 1024 * 1024
_HEAD = 4096
_HEADER = Struct("<4s5H3L2H")
_EXTRA = Struct("<2H")
_SIGNATURE, _DESCRIPTOR_SIGNATURE = b"PK\3\4", b"PK\7\x08"
_ZIP64, _LARGE = 0x0001, 0xFFFFFFFF
_DESCRIPTORS = (Struct("<3L"), Struct("<L2Q"))
_COMPARED_FLAGS = 0x2849  # Encryption of three kinds, descriptor, UTF-8: each changes how the entry is read.
_ARCHIVE = re.compile(
    rb"PK(?:\x03\x04|\x05\x06|\x07\x08)|\x1f\x8b|7z\xbc\xaf|Rar!\x1a|\xfd7zXZ|BZh[1-9]1AY&SY|\x28\xb5\x2f\xfd"
    rb"|.{257}ustar",
    re.DOTALL,
)
"""ZIP, gzip, 7-Zip, RAR, xz, bzip2, Zstandard, tar."""


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
        return sorted((_entry(member) for member in self._members if member.number), key=lambda entry: entry.number)

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


def require_same_header(file: RangedFile, member: Member) -> int:
    """Compare an entry's header. Returns where its data starts. Raises HeaderMismatch or OverlappingEntries."""
    header = _read(file, member.offset, HEADER_SIZE)
    if len(header) < HEADER_SIZE or not header.startswith(_SIGNATURE):
        raise HeaderMismatch(f"{shown(member.name)} has no header where the central directory says; {AGAIN}")
    _, _, flags, method, _, _, crc, packed, size, name_length, extra_length = _HEADER.unpack(header)
    rest = file.read(name_length + extra_length)
    name, extra = rest[:name_length], rest[name_length:]
    size, packed = _with_zip64(extra, size, packed)
    different = [
        what
        for what, differs in {
            "name": name != member.stored_name,
            "flags": (flags ^ member.flags) & _COMPARED_FLAGS,
            "method": method != member.method,
            "checksum": _differs(crc, member.crc, flags),
            "packed size": _differs(packed, member.packed, flags),
            "size": _differs(size, member.size, flags),
        }.items()
        if differs
    ]
    if different:
        raise HeaderMismatch(
            f"{shown(member.name)}: its header and the central directory disagree on the {different[0]}; {AGAIN}"
        )
    start = member.offset + HEADER_SIZE + len(rest)
    if start + member.packed > member.end:
        raise OverlappingEntries(f"{shown(member.name)} overlaps what comes after it; {AGAIN}")
    return start


def require_same_descriptor(file: RangedFile, member: Member, end: int) -> None:
    """From the end of the data to the next entry, there is a descriptor if the flags say so, or nothing."""
    length = member.end - end
    expected = {b""}
    if member.flags & HAS_DESCRIPTOR:
        plain = {form.pack(member.crc, member.packed, member.size) for form in _DESCRIPTORS}
        expected = plain | {_DESCRIPTOR_SIGNATURE + descriptor for descriptor in plain}
    if length not in {len(descriptor) for descriptor in expected}:
        raise CorruptDirectory(f"after {shown(member.name)} there are bytes that belong to no entry; {AGAIN}")
    if _read(file, end, length) not in expected:
        raise HeaderMismatch(f"{shown(member.name)}: what follows its data disagrees with the directory; {AGAIN}")


def inflated(file: RangedFile, member: Member, start: int) -> Iterator[bytes]:
    """The content, in chunks of up to 1 MiB. Raises CorruptData, WrongSize, WrongCrc, NestedArchive or NotCsv."""
    return _with_csv_head(_checked(_raw(file, member, start), member), member.name)


def _checked(chunks: Iterator[bytes], member: Member) -> Iterator[bytes]:
    crc = size = 0
    for chunk in chunks:
        crc, size = zlib.crc32(chunk, crc), size + len(chunk)
        if size > member.size:
            break
        yield chunk
    if size != member.size:
        raise WrongSize(f"{shown(member.name)} does not have the {member.size} bytes that it declares; {AGAIN}")
    if crc != member.crc:
        raise WrongCrc(f"{shown(member.name)} is damaged: its checksum (CRC) is wrong; zip and upload it again")


def _raw(file: RangedFile, member: Member, start: int) -> Iterator[bytes]:
    pieces = _pieces(file, start, start + member.packed)
    return pieces if member.method == ZIP_STORED else _deflated(pieces, member.name)


def _pieces(file: RangedFile, start: int, end: int) -> Iterator[bytes]:
    for at in range(start, end, _PIECE):
        yield _read(file, at, min(_PIECE, end - at))


def _deflated(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        for piece in pieces:
            yield from _inflate(stream, piece)
            if stream.eof:
                break
    except zlib.error:
        raise _corrupt(name) from None
    if not stream.eof or stream.unused_data or next(pieces, b""):
        raise _corrupt(name)


def _inflate(stream: "zlib._Decompress", piece: bytes) -> Iterator[bytes]:
    """A full chunk says that there may be more, even if all input is consumed."""
    full = True
    while (piece or full) and not stream.eof:
        chunk = stream.decompress(piece, _MAX_CHUNK)
        yield chunk
        piece, full = stream.unconsumed_tail, len(chunk) == _MAX_CHUNK


def _with_csv_head(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The same bytes, once the first of them do not look like another kind of file."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= _HEAD:
            break
    if _ARCHIVE.match(head):
        raise NestedArchive(f"{shown(name)} is an archive, whatever its name; unpack it, and zip its CSV files")
    if b"\0" in head[:_HEAD]:
        raise NotCsv(f"{shown(name)} is binary or UTF-16, not a CSV; save it as CSV in UTF-8")
    if head:
        yield head
    yield from chunks


def _differs(stored: int, true: int, flags: int) -> bool:
    """A writer that streams leaves 0 in the header, and writes the value after the data."""
    return stored != true and not (flags & HAS_DESCRIPTOR and stored == 0)


def _with_zip64(extra: bytes, size: int, packed: int) -> tuple[int, int]:
    """The sizes, from the ZIP64 field if the header refers to it. Without the field, the mark stays, and differs."""
    values = _zip64_values(extra)
    if size == _LARGE and values:
        size = values.pop(0)
    if packed == _LARGE and values:
        packed = values.pop(0)
    return size, packed


def _zip64_values(extra: bytes) -> list[int]:
    while len(extra) >= _EXTRA.size:
        kind, length = _EXTRA.unpack_from(extra)
        data, extra = extra[_EXTRA.size : _EXTRA.size + length], extra[_EXTRA.size + length :]
        if kind == _ZIP64:
            return [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data) - 7, 8)]
    return []


def _read(file: RangedFile, offset: int, length: int) -> bytes:
    file.seek(offset)
    return file.read(length)


def _corrupt(name: str) -> CorruptData:
    return CorruptData(f"{shown(name)} is damaged: its compressed data is invalid; zip and upload it again")
