"""The entries of the central directory, all checked before a byte is inflated."""

import stat
from dataclasses import dataclass
from struct import error as StructError
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from .archive_end import Directory, directory_of
from .archive_errors import (
    ArchiveTooLarge,
    CorruptDirectory,
    DuplicateName,
    EmptyArchive,
    EncryptedEntry,
    OverlappingEntries,
    RatioTooHigh,
    SpecialFile,
    SplitArchive,
    UnsafeName,
    UnsupportedCompression,
    WrongSize,
)
from .archive_names import is_of_the_system, name_of, require_csv, same, stored_name
from .codes import shown, shown_bytes
from .ranged_file import RangedFile

MAX_SIZE = 1024**3
"""Bytes of the archive, and of all entries together once inflated. A smaller archive cannot hold them honestly."""
MAX_RATIO = 100

HEADER_SIZE = 30
HAS_DESCRIPTOR = 0x0008

_AGAIN = "zip the files again"
_ENCRYPTED = 0x2041  # Traditional, strong, or with a masked directory.
_KNOWN_FLAGS = 0x0806 | HAS_DESCRIPTOR  # Level of compression, UTF-8.
_AES = 99
_EMPTY_DEFLATED = 2
_DOS_DIRECTORY, _DOS_VOLUME, _DOS_REPARSE_POINT = 0x10, 0x08, 0x400


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
    """In the order of their data. Raises ArchiveRefused."""
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
        raise CorruptDirectory(f"the central directory cannot be read; {_AGAIN}") from None
    entries = archive.infolist()
    if len(entries) != directory.count or archive.start_dir != directory.offset:
        raise CorruptDirectory(
            f"the central directory has {len(entries)} entries, and its end record says {directory.count}; {_AGAIN}"
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
        raise SpecialFile(f"{shown(name)} is a directory by its attributes and a file by its name; {_AGAIN}")
    if is_directory and (info.file_size or info.compress_size > _EMPTY_DEFLATED):
        raise SpecialFile(f"{shown(name)} is a directory with content; {_AGAIN}")


def _require_honest(info: ZipInfo, name: str) -> None:
    if info.file_size > MAX_SIZE:
        raise ArchiveTooLarge(f"{shown(name)} is over {MAX_SIZE} bytes once inflated; split it")
    if info.compress_type == ZIP_STORED and info.file_size != info.compress_size:
        raise WrongSize(f"{shown(name)} is stored, but its two sizes differ; {_AGAIN}")
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
    by_offset = sorted(numbered, key=lambda one: one[1].header_offset)
    ends = [info.header_offset for _, info, _ in by_offset[1:]] + [directory.offset]
    members = [_member(*one, end) for one, end in zip(by_offset, ends, strict=True)]
    if members[0].offset:
        raise CorruptDirectory(f"there are bytes before the first entry; {_AGAIN}, without a program in front")
    for member in members:
        if member.offset + HEADER_SIZE + len(member.stored_name) + member.packed > member.end:
            raise OverlappingEntries(f"{shown(member.name)} overlaps what comes after it; {_AGAIN}")
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
