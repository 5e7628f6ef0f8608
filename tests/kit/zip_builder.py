"""Archives with a wrong value in any field, which no library writes."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from struct import pack
from typing import Any

CSV = b"code,name\n" + b"".join(b"p-%d,tea\n" % number for number in range(50))
LARGE = 0xFFFFFFFF
REGULAR = 0o100644 << 16


def deflated(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(data) + stream.flush()


@dataclass(frozen=True)
class File:
    """An entry. local, central: false values of its two headers, by field.

    raw: the stored data, if it is not the deflated content. after: bytes behind the data.
    """

    name: bytes | str = b"products.csv"
    data: bytes = CSV
    method: int = 8
    flags: int = 0
    mode: int = REGULAR
    raw: bytes | None = None
    after: bytes = b""
    local: Mapping[str, Any] = field(default_factory=dict)
    central: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def packed(self) -> bytes:
        if self.raw is not None:
            return self.raw
        return deflated(self.data) if self.method == 8 else self.data

    def truth(self) -> dict[str, Any]:
        name = self.name.encode() if isinstance(self.name, str) else self.name
        flags = self.flags | (0x800 if isinstance(self.name, str) else 0)
        sizes = {"crc": zlib.crc32(self.data), "packed": len(self.packed), "size": len(self.data)}
        return {"name": name, "flags": flags, "method": self.method, **sizes, "extra": b"", "version": 20}


def _header(kind: bytes, one: Mapping[str, Any], more: bytes = b"", tail: bytes = b"") -> bytes:
    start = (
        kind + (pack("<H", 0x0314) if tail else b"") + pack("<5H", one["version"], one["flags"], one["method"], 0, 33)
    )
    sizes = pack("<3L2H", one["crc"], one["packed"], one["size"], len(one["name"]), len(one["extra"]))
    return start + sizes + tail + one["name"] + one["extra"] + more


def _central(file: File, offset: int) -> bytes:
    one = {"offset": offset, "disk": 0, "mode": file.mode, **file.truth(), **file.central}
    return _header(b"PK\1\2", one, tail=pack("<3H2L", 0, one["disk"], 0, one["mode"], one["offset"]))


def archive(*files: File, before: bytes = b"", comment: bytes = b"", middle: bytes = b"", **end: int) -> bytes:
    """An archive. before: bytes before the first entry. middle: between directory and end record. end: its fields."""
    data, directory = before, b""
    for file in files:
        directory += _central(file, len(data))
        data += _header(b"PK\3\4", {**file.truth(), **file.local}) + file.packed + file.after
    one = {"disk": 0, "start_disk": 0, "here": len(files), "count": len(files), "size": len(directory)}
    one |= {"offset": len(data), "comment_length": len(comment), **end}
    return data + directory + middle + b"PK\5\6" + pack("<4H2LH", *one.values()) + comment


def zip64(
    *files: File, locator: Mapping[str, int] | None = None, record: Mapping[str, int] | None = None, **end: int
) -> bytes:
    """An archive whose end record refers to a ZIP64 record. locator, record: false values of their fields."""
    plain = archive(*files)
    size, offset = (int.from_bytes(plain[-10 + at : -6 + at], "little") for at in (0, 4))
    truth = {"length": 44, "made": 45, "needed": 45, "disk": 0, "start_disk": 0, "here": len(files)}
    truth |= {"count": len(files), "size": size, "offset": offset, **(record or {})}
    place = {"disk": 0, "offset": offset + size, "disks": 1, **(locator or {})}
    middle = b"PK\6\6" + pack("<Q2H2L4Q", *truth.values()) + b"PK\6\7" + pack("<LQL", *place.values())
    marks = {"here": 0xFFFF, "count": 0xFFFF, "size": LARGE, "offset": LARGE, **end}
    return archive(*files, middle=middle, **marks)
