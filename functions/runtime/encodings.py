"""The encodings of CSV files, and the check that a file is in the one that it is read in.

Most bytes decode in several encodings, so decoding proves nothing: pairs of half-width katakana in cp932 are valid
UTF-8, and most UTF-8 and EUC-JP is valid cp932. The check compares what the languages of each encoding make probable.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from .languages import LANGUAGES, UNDECODABLE, cost

type Encoding = Literal["utf-8", "cp932"]

UTF_8: Encoding = "utf-8"
CP932: Encoding = "cp932"

# Bytes that Python's decoder accepts although cp932 has no such character.
_NO_CP932 = re.compile("[\x80\xa0\uf8f0-\uf8f3]")
# ISO-2022-JP, -KR and -CN, and HZ. Between their escapes, ASCII stands for other characters.
_ESCAPES = re.compile(rb"\x1b(?:\$[@AB]|\$\([CDOPQ]|\$\)[ACEG]|\([IJ])|~\{(?:[!-w][!-~])++~\}")
_UTF_7 = re.compile(rb"\+[A-Za-z0-9+/]{3,}")
# Bytes of distinct cells that are compared. More of them change no decision.
_MAX_SAMPLE = 8 * 1024


class WrongEncoding(ValueError):
    """The file is in another encoding. The message names the row and the encoding, and never repeats a cell."""


def decoded(data: bytes, encoding: Encoding) -> str:
    """Raises UnicodeDecodeError."""
    text = data.decode(encoding)
    wrong = _NO_CP932.search(text) if encoding == CP932 else None
    if wrong:
        raise UnicodeDecodeError(encoding, data, 0, len(data), "not in cp932")
    return text


def is_in(data: bytes, encoding: Encoding) -> bool:
    try:
        decoded(data, encoding)
    except UnicodeDecodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An encoding that a file may be in. languages: that are written in it. read: raises UnicodeError.

    margin: bits by which it must be more probable than the named encoding. Twice what it was for any of 60,000 cells
    of right files.
    """

    name: str
    languages: Sequence[str]
    read: Callable[[bytes], str]
    margin: float = 12.0

    def bits(self, cell: bytes) -> float:
        """How improbable a cell is in this encoding."""
        try:
            return cost(self.read(cell), self.languages)
        except UnicodeError:
            return UNDECODABLE + 8.0 * len(cell)


def _codec(name: str) -> Callable[[bytes], str]:
    return lambda cell: cell.decode(name)


def _twice(codec: str) -> Callable[[bytes], str]:
    """UTF-8 that was read in another encoding, and saved as UTF-8."""

    def read(cell: bytes) -> str:
        return cell.decode().encode(codec).decode()

    return read


_UTF_8 = _Candidate("UTF-8", (*LANGUAGES,), _codec("utf-8"), margin=10.0)
# Half-width katakana that are valid UTF-8 by chance are refused as UTF-8 unless that is clearly more probable.
_CP932 = _Candidate("cp932", ("japanese", "katakana"), lambda cell: decoded(cell, CP932), margin=-4.0)
_NAMED = {UTF_8: _UTF_8, CP932: _CP932}
_OTHERS = (
    _Candidate("EUC-JP", ("japanese",), _codec("euc_jp"), margin=6.0),
    _Candidate("GB18030", ("simplified",), _codec("gb18030"), margin=10.0),
    _Candidate("Big5", ("traditional",), _codec("big5hkscs"), margin=10.0),
    _Candidate("EUC-KR", ("korean",), _codec("cp949"), margin=10.0),
    _Candidate("cp1252 or Latin-1", ("western",), _codec("cp1252")),
    _Candidate("cp1250", ("central",), _codec("cp1250")),
    _Candidate("KOI8-R", ("cyrillic",), _codec("koi8_u"), margin=20.0),
    _Candidate("cp1251", ("cyrillic",), _codec("cp1251")),
    _Candidate("cp866", ("cyrillic",), _codec("cp866")),
    _Candidate("cp1253", ("greek",), _codec("cp1253")),
    _Candidate("cp1255", ("hebrew",), _codec("cp1255")),
    _Candidate("cp1256", ("arabic",), _codec("cp1256"), margin=16.0),
    _Candidate("TIS-620", ("thai",), _codec("cp874")),
    _Candidate("Mac Roman", ("western",), _codec("mac_roman")),
    _Candidate("cp437", ("western",), _codec("cp437")),
    _Candidate("UTF-7", (*LANGUAGES,), _codec("utf-7")),
    *(
        _Candidate("UTF-8 that was once read as another encoding and saved", (*LANGUAGES,), _twice(codec))
        for codec in ("cp1252", "latin-1", "cp932")
    ),
)


class EncodingCheck:
    """Checks a file whose rows are shown to it one after the other, in constant memory.

    A row of ASCII costs a scan; another row is decoded, and compared while the sample has room.
    """

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._whole = {UTF_8: True, CP932: True}
        self._undecodable: int | None = None
        self._sample = _Sample()
        # In a file of cp932, the rows that are also valid UTF-8: they may come from another file.
        self._of_utf_8 = _Sample()

    def see(self, number: int, data: bytes | None) -> None:
        """Take notice of a row; 0 is the header. data: None if it is too long to be read. Raises WrongEncoding."""
        if data is None:
            return
        if (b"\x1b" in data or b"~{" in data) and _ESCAPES.search(data):
            raise _wrong(number, self._encoding, "ISO-2022 or HZ, with escape sequences")
        if data.isascii():
            if b"+" in data:
                self._sample.add(number, data)
            return
        valid = {encoding: is_in(data, encoding) for encoding, whole in self._whole.items() if whole or self._mixes}
        if self._undecodable is None and not valid.get(self._encoding, False):
            self._undecodable = number
            self._sample.room = max(self._sample.room, 1)
        self._sample.add(number, data)
        if self._mixes and valid[UTF_8]:
            self._of_utf_8.add(number, data)
        for encoding, found in valid.items():
            self._whole[encoding] &= found

    @property
    def _mixes(self) -> bool:
        return self._encoding == CP932

    def end(self) -> None:
        """Raises WrongEncoding if a row cannot be decoded, or the file is more probable in another encoding."""
        named, bits = _NAMED[self._encoding], self._sample.bits
        others = [*_OTHERS, *(_NAMED[one] for one, whole in self._whole.items() if whole and one != self._encoding)]
        costs = {one.name: (bits(one), one) for one in others} if self._sample.cells else {}
        if self._undecodable is not None:
            _, found = min([(bits(named), named), *costs.values()], key=lambda one: one[0])
            raise _wrong(self._undecodable, self._encoding, found.name)
        if not costs:
            return
        cheapest, found = min(((each + one.margin, one) for each, one in costs.values()), key=lambda one: one[0])
        if cheapest < bits(named):
            raise _wrong(
                self._sample.first(found, named), self._encoding, found.name, sure=costs[found.name][0] < bits(named)
            )
        if self._of_utf_8.bits(_UTF_8) + 20.0 < self._of_utf_8.bits(_CP932):
            raise _wrong(self._of_utf_8.first(_UTF_8, _CP932), self._encoding, _UTF_8.name)


class _Sample:
    """Distinct cells that may have other characters in another encoding, each with the first row that has it."""

    def __init__(self) -> None:
        self.cells: dict[bytes, int] = {}
        self.room = _MAX_SAMPLE

    def add(self, number: int, data: bytes) -> None:
        if self.room <= 0:
            return
        for cell in data.split(b","):
            if cell not in self.cells and (not cell.isascii() or _UTF_7.search(cell)):
                self.cells[cell] = number
                self.room -= len(cell)

    def bits(self, candidate: _Candidate) -> float:
        return sum(map(candidate.bits, self.cells))

    def first(self, found: _Candidate, named: _Candidate) -> int:
        """The first row that speaks for another encoding."""
        return next((row for cell, row in self.cells.items() if found.bits(cell) < named.bits(cell)), 0)


def _wrong(number: int, encoding: Encoding, found: str, *, sure: bool = True) -> WrongEncoding:
    """found: the name of the encoding that the file looks like."""
    row, named = f"row {number}" if number else "the header", _NAMED[encoding].name
    if found == named:
        return WrongEncoding(f"{row} is not {named}, as the rest of the file is: correct it")
    if not sure:
        return WrongEncoding(f"{row}: not sure, {found}")
    return WrongEncoding(f"{row} is not {named}; the file looks like {found}")
