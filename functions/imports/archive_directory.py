"""The central directory of a ZIP that is read by ranges: its end records, names and entries.

All is checked before a byte is inflated, and read strictly: what two readers could understand in two ways is refused.
`zipfile` takes the last end record, believes the ZIP64 record without comparing it, and does not compare counts.
Layout: APPNOTE.TXT 6.3.10, sections 4.3.14 to 4.3.16.
"""

import io
import re
import stat
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from struct import Struct
from struct import error as StructError
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from .codes import shown, shown_bytes
from .errors import (
    ArchiveCutShort,
    ArchiveTooLarge,
    CorruptDirectory,
    DuplicateName,
    EmptyArchive,
    EncryptedEntry,
    NestedArchive,
    NotAnArchive,
    NotCsv,
    OverlappingEntries,
    RatioTooHigh,
    SpecialFile,
    SplitArchive,
    TooManyEntries,
    UnsafeName,
    UnsupportedCompression,
    WrongSize,
)
from .requests import MAX_ENTRIES

type Read = Callable[[int, int], bytes]
"""(offset, length) -> these bytes of the object. length is never 0, and the range never passes the end."""

WINDOW = 8 * 1024 * 1024
MAX_READ = 4 * 1024 * 1024
"""Bytes of one read. Larger than the central directory of 1,000 entries; a lie about its size is refused here."""
MAX_SIZE = 1024**3
"""Bytes of the archive, and of all entries together once inflated. A smaller archive cannot hold them honestly."""
MAX_RATIO = 100
MAX_NAME = 255
"""Characters, with folders."""
HEADER_SIZE = 30
HAS_DESCRIPTOR = 0x0008
AGAIN = "zip the files again"

_END = Struct("<4s4H2LH")
_LOCATOR = Struct("<4sLQL")
_END_64 = Struct("<4sQ2H2L4Q")
_SIGNATURE, _LOCATOR_SIGNATURE, _SIGNATURE_64 = b"PK\5\6", b"PK\6\7", b"PK\6\6"
_MAX_COMMENT = 0xFFFF
# "See the ZIP64 record", for a disk, disk, count, count, size and offset.
_ELSEWHERE = (0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)
_ENCRYPTED = 0x2041  # Traditional, strong, or with a masked directory.
_KNOWN_FLAGS = 0x0806 | HAS_DESCRIPTOR  # Level of compression, UTF-8.
_AES = 99
_EMPTY_DEFLATED = 2
_DOS_DIRECTORY, _DOS_VOLUME, _DOS_REPARSE_POINT = 0x10, 0x08, 0x400
_UTF_8_FLAG = 0x800
# Bytes that Python's decoder accepts although cp932 has no such character.
_NO_CP932 = re.compile("[\x80\xa0\uf8f0-\uf8f3]")
_DRIVE = re.compile(r"[A-Za-z]:")
_ARCHIVES = re.compile(r"\.(?:zipx?|jar|gz|tgz|tar|bz2|tbz2?|xz|txz|lzma|zst|lz4?|7z|rar|cab|arj|z|iso)", re.IGNORECASE)
# Unicode categories that a terminal does not show, or that move its cursor.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class RangedFile(io.RawIOBase):
    """An object that is read by ranges, as the file that `zipfile` needs.

    It keeps one window of the object in memory: reading on from byte to byte fetches each byte once.
    """

    def __init__(self, read: Read, size: int) -> None:
        self._fetch, self.size = read, size
        self._position = self._start = 0
        self._window = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Raises OSError for a place before the start, as a file does."""
        position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        if position < 0:
            raise OSError("a place before the start of the file")
        self._position = position
        return position

    def read(self, length: int = -1, /) -> bytes:
        """Fewer bytes only at the end of the object. Raises ArchiveCutShort, or CorruptDirectory over MAX_READ."""
        end = self.size if length < 0 else min(self._position + length, self.size)
        if end - self._position > MAX_READ:
            raise CorruptDirectory(f"the central directory is over {MAX_READ} bytes; zip the files again")
        pieces = []
        while self._position < end:
            pieces.append(self._piece(end))
            self._position += len(pieces[-1])
        return b"".join(pieces)

    def _piece(self, end: int) -> bytes:
        if not self._start <= self._position < self._start + len(self._window):
            self._window = b""  # Never two windows at once.
            self._start = self._position
            self._window = self._fetch(self._position, min(WINDOW, self.size - self._position))
            if not self._window:
                raise ArchiveCutShort(f"no bytes at {self._position} of {self.size}")
        return self._window[self._position - self._start : end - self._start]


@dataclass(frozen=True, slots=True)
class Directory:
    """The place of the central directory, in bytes, and the number of entries that it declares."""

    offset: int
    size: int
    count: int


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of the central directory. number: 1 for the first file to import; 0 for what is skipped.

    packed, size: in bytes, before and after inflating. end: where the next header, or the directory, starts.
    """

    number: int
    name: str
    stored_name: bytes
    offset: int
    end: int
    flags: int
    method: int
    crc: int
    packed: int
    size: int


def members_of(file: RangedFile) -> list[Member]:
    """Read and check all members, in the order of their data. Raises ArchiveRefused."""
    if file.size > MAX_SIZE:
        raise ArchiveTooLarge(f"the archive is over {MAX_SIZE} bytes; split it")
    directory = directory_of(file)
    named = [(info, name_of(info, number)) for number, info in enumerate(_entries(file, directory), start=1)]
    for info, name in named:
        _require_plain(info, name)
        _require_honest(info, name)
    _require_different([name for _, name in named])
    if sum(info.file_size for info, _ in named) > MAX_SIZE:
        raise ArchiveTooLarge(f"the entries are over {MAX_SIZE} bytes once inflated; split the archive")
    return _placed(_numbered(named), directory)


def _entries(file: RangedFile, directory: Directory) -> list[ZipInfo]:
    # cp437 maps each byte to a character of its own, so the bytes of a name can be restored.
    try:
        archive = ZipFile(file, metadata_encoding="cp437")
    except UnicodeDecodeError as error:
        name = shown_bytes(error.object)
        raise UnsafeName(f"the name {name} is marked as UTF-8 and is not; rename it, and zip the files again") from None
    except (BadZipFile, NotImplementedError, StructError, ValueError, EOFError, OverflowError):
        raise CorruptDirectory(f"the central directory cannot be read; {AGAIN}") from None
    entries = archive.infolist()
    if len(entries) != directory.count or archive.start_dir != directory.offset:
        raise CorruptDirectory(
            f"the central directory has {len(entries)} entries, and its end record says {directory.count}; {AGAIN}"
        )
    return entries


def _require_plain(info: ZipInfo, name: str) -> None:
    """A file or a directory, and nothing that needs more than inflating."""
    if info.flag_bits & _ENCRYPTED or info.compress_type == _AES:
        raise EncryptedEntry(f"{shown(name)} is encrypted; zip the files without a password")
    _require_kind(info, name)
    if info.volume:
        raise SplitArchive(f"{shown(name)} is on another disk; zip the files into one file")
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or info.flag_bits & ~_KNOWN_FLAGS:
        raise UnsupportedCompression(
            f"{shown(name)} is compressed by a method other than Deflate (method {info.compress_type}, "
            f"flags {info.flag_bits:#06x}); zip the files with Deflate, or without compression"
        )


def _require_kind(info: ZipInfo, name: str) -> None:
    """The mode of Unix and the attributes of DOS are checked on all: the system that the entry names may be a lie."""
    mode, attributes, is_directory = stat.S_IFMT(info.external_attr >> 16), info.external_attr, name.endswith("/")
    if mode == stat.S_IFLNK or attributes & _DOS_REPARSE_POINT:
        raise SpecialFile(f"{shown(name)} is a link; replace it by the file itself")
    if mode not in (0, stat.S_IFDIR if is_directory else stat.S_IFREG) or attributes & _DOS_VOLUME:
        raise SpecialFile(f"{shown(name)} is no plain file; remove it from the archive")
    if attributes & _DOS_DIRECTORY and not is_directory:
        raise SpecialFile(f"{shown(name)} is a directory by its attributes and a file by its name; {AGAIN}")
    if is_directory and (info.file_size or info.compress_size > _EMPTY_DEFLATED):
        raise SpecialFile(f"{shown(name)} is a directory with content; {AGAIN}")


def _require_honest(info: ZipInfo, name: str) -> None:
    if info.file_size > MAX_SIZE:
        raise ArchiveTooLarge(f"{shown(name)} is over {MAX_SIZE} bytes once inflated; split it")
    if info.compress_type == ZIP_STORED and info.file_size != info.compress_size:
        raise WrongSize(f"{shown(name)} is stored, but its two sizes differ; {AGAIN}")
    if info.file_size > MAX_RATIO * info.compress_size:
        raise RatioTooHigh(
            f"{shown(name)} inflates to over {MAX_RATIO} times its size; zip it without compression, or upload the CSV"
        )


def _require_different(names: list[str]) -> None:
    first: dict[str, str] = {}
    for name in names:
        if (other := first.setdefault(same(name), name)) is not name:
            raise DuplicateName(f"{shown(other)} and {shown(name)} are one name on some systems; rename one of them")


def _numbered(named: list[tuple[ZipInfo, str]]) -> list[tuple[int, ZipInfo, str]]:
    number, numbered = 0, []
    for info, name in named:
        wanted = not name.endswith("/") and not is_of_the_system(name)
        if wanted:
            require_csv(name)
            number += 1
        numbered.append((number if wanted else 0, info, name))
    if not number:
        raise EmptyArchive("the archive has no files; put one CSV file or more into it")
    return numbered


def _placed(numbered: list[tuple[int, ZipInfo, str]], directory: Directory) -> list[Member]:
    """The members side by side: none shares a byte with another, with the directory, or with anything before them."""
    by_offset = sorted(numbered, key=lambda entry: entry[1].header_offset)
    ends = [info.header_offset for _, info, _ in by_offset[1:]] + [directory.offset]
    members = [_member(*entry, end) for entry, end in zip(by_offset, ends, strict=True)]
    if members[0].offset:
        raise CorruptDirectory(f"there are bytes before the first entry; {AGAIN}, without a program in front")
    for member in members:
        if member.offset + HEADER_SIZE + len(member.stored_name) + member.packed > member.end:
            raise OverlappingEntries(f"{shown(member.name)} overlaps what comes after it; {AGAIN}")
    return members


def _member(number: int, info: ZipInfo, name: str, end: int) -> Member:
    return Member(
        number=number,
        name=name,
        stored_name=stored_name(info),
        offset=info.header_offset,
        end=end,
        flags=info.flag_bits,
        method=info.compress_type,
        crc=info.CRC,
        packed=info.compress_size,
        size=info.file_size,
    )


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
        raise CorruptDirectory(f"the central directory is not where the end record says; {AGAIN}, without a program")
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
    fitting = [place for place in candidates if place + _END.size <= len(tail) and _ends_the_file(tail, place)]
    if fitting != candidates[:1]:
        raise CorruptDirectory(f"the archive has more than one end record, or bytes after it; {AGAIN}")
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
            raise CorruptDirectory(f"the end record points to a ZIP64 record that is missing; {AGAIN}")
        return values, base + at
    _, disk, offset, disks = _LOCATOR.unpack_from(tail, before)
    record = before - _END_64.size
    if disk or disks > 1:
        raise SplitArchive("the archive is one part of a split archive; zip the files into one file")
    if record < 0 or offset != base + record or not tail.startswith(_SIGNATURE_64, record):
        raise CorruptDirectory(f"the ZIP64 record is not where its locator says; {AGAIN}")
    found = _END_64.unpack_from(tail, record)
    length, large = found[1], found[4:]
    if length != _END_64.size - 12 or any(
        value != other for value, other, elsewhere in zip(values, large, marked, strict=True) if not elsewhere
    ):
        raise CorruptDirectory(f"the end record and the ZIP64 record disagree; {AGAIN}")
    return large, base + record


def stored_name(info: ZipInfo) -> bytes:
    """The bytes of the name, given that cp437 decoded those that are not marked as UTF-8."""
    return info.orig_filename.encode("utf-8" if info.flag_bits & _UTF_8_FLAG else "cp437")


def name_of(info: ZipInfo, number: int) -> str:
    """A safe path, with a slash at the end for a directory. number: of the entry, from 1. Raises UnsafeName.

    A name that is not marked as UTF-8 is UTF-8 if it can be, as on macOS, otherwise cp932, as on Windows in Japanese.
    The Unicode path that Info-ZIP adds has the last word; `zipfile` has checked that it belongs to this name.
    """
    name = _decoded(stored_name(info))
    if not name.strip("/"):
        raise UnsafeName(f"entry {number} of the archive has no name; zip the files again")
    require_safe(name)
    if info.filename != info.orig_filename:
        name = info.filename
        require_safe(name)
    return name


def require_safe(name: str) -> None:
    """Raises UnsafeName."""
    parts = name.removesuffix("/").split("/")
    if len(name) > MAX_NAME:
        raise _unsafe(name, f"has over {MAX_NAME} characters", "shorten it")
    if any(unicodedata.category(sign) in _INVISIBLE for sign in name):
        raise _unsafe(name, "has a control character", "rename it")
    if "\\" in name:
        raise _unsafe(name, "has a backslash", "zip the files with / between folders")
    if name.startswith("/") or _DRIVE.match(name):
        raise _unsafe(name, "is absolute", "zip the files with relative names")
    if ".." in parts:
        raise _unsafe(name, "leaves the archive", "zip the files without .. in their paths")
    if "." in parts or "" in parts:
        raise _unsafe(name, "has an empty folder name or .", "zip the files with plain paths")


def require_csv(name: str) -> None:
    """Raises NestedArchive or NotCsv."""
    if _ARCHIVES.fullmatch(name[name.rfind(".") :]):
        raise NestedArchive(f"{shown(name)} is an archive; unpack it, and zip its CSV files")
    if not name.lower().endswith(".csv"):
        raise NotCsv(f"{shown(name)} does not end with .csv; remove it from the archive, or rename it if it is a CSV")


def is_of_the_system(name: str) -> bool:
    """Check for what macOS and Windows add to a folder unasked: no file of the user. `._x.csv` is in AppleDouble."""
    base = name.rpartition("/")[2]
    return base.startswith("._") or base.lower() in {".ds_store", "thumbs.db", "desktop.ini"}


def same(name: str) -> str:
    """Equal for names that a file system may take for one."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name.rstrip("/")).casefold())


def _decoded(name: bytes) -> str:
    for encoding in ("utf-8", "cp932"):
        with suppress(UnicodeDecodeError):
            decoded = name.decode(encoding)
            if encoding == "utf-8" or not _NO_CP932.search(decoded):
                return decoded
    raise UnsafeName(f"the name {shown_bytes(name)} is neither UTF-8 nor cp932; rename it, and zip the files again")


def _unsafe(name: str, what: str, remedy: str) -> UnsafeName:
    return UnsafeName(f"the name {shown(name)} {what}; {remedy}")
