"""The names of entries. Nothing is ever written under such a name; a wrong one still says that the archive lies."""

import re
import unicodedata
from contextlib import suppress
from zipfile import ZipInfo

from .archive_errors import INVISIBLE, NestedArchive, NotCsv, UnsafeName
from .codes import shown, shown_bytes

MAX_NAME = 255
"""Characters, with folders."""

_UTF_8_FLAG = 0x800
# Bytes that Python's decoder accepts although cp932 has no such character.
_NO_CP932 = re.compile("[\x80\xa0\uf8f0-\uf8f3]")
_DRIVE = re.compile(r"[A-Za-z]:")
_ARCHIVES = re.compile(r"\.(?:zipx?|jar|gz|tgz|tar|bz2|tbz2?|xz|txz|lzma|zst|lz4?|7z|rar|cab|arj|z|iso)", re.IGNORECASE)


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
    if any(unicodedata.category(one) in INVISIBLE for one in name):
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
    """What macOS and Windows add to a folder without being asked: no file of the user. `._x.csv` is in AppleDouble."""
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
