"""The encodings of CSV files, and the check that a file is in the encoding it is read in.

Most bytes decode in several encodings, so decoding proves nothing: pairs of half-width katakana in cp932 are valid
UTF-8, and most UTF-8 and EUC-JP is valid cp932. The check compares what the languages of each encoding make probable.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

type Encoding = Literal["utf-8", "cp932"]

UTF_8: Encoding = "utf-8"
CP932: Encoding = "cp932"

# Bytes that Python's decoder accepts although cp932 has no such character.
_NO_CP932 = re.compile("[\x80\xa0\uf8f0-\uf8f3]")
# ISO-2022-JP, -KR and -CN, and HZ. Between their escapes, ASCII stands for other characters.
_ESCAPES = re.compile(rb"\x1b(?:\$[@AB]|\$\([CDOPQ]|\$\)[ACEG]|\([IJ])|~\{(?:[!-w][!-~])++~\}")
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_NO_ASCII = re.compile(rb"[\x80-\xff]")
_REPLACEMENT = "\ufffd".encode()
_UTF_7 = re.compile(rb"\+[A-Za-z0-9+/]{3,}")
# Bytes of distinct cells that are compared. More of them change no decision.
_MAX_SAMPLE = 8 * 1024
_MARGIN_OF_ROWS = 20.0
# Bits of a cell that an encoding cannot represent, in addition to its bytes.
_UNDECODABLE = 40.0
# The command's option; the request's field has the same name.
_SAY = "import it with --encoding"
_SAVE, _AGAIN = "save it as CSV in UTF-8", "export it again as CSV in UTF-8"


class WrongEncoding(ValueError):
    """The file is in another encoding. The message names the row and the encoding, and never repeats a cell."""


def decoded(data: bytes, encoding: Encoding) -> str:
    """Decode bytes. Raises UnicodeDecodeError."""
    text = data.decode(encoding)
    wrong = _NO_CP932.search(text) if encoding == CP932 else None
    if wrong:
        raise UnicodeDecodeError(encoding, data, 0, len(data), "not in cp932")
    return text


def _text(data: bytes, encoding: Encoding) -> str | None:
    try:
        return data.decode() if encoding == UTF_8 else decoded(data, encoding)
    except UnicodeDecodeError:
        return None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An encoding that a file may be in.

    languages: those written in it; none for all. read: raises UnicodeError.
    margin: bits by which it must be more probable than the named encoding; right files stayed below half of it.
    remedy: what to do with a file that is in it.
    """

    name: str
    languages: Sequence[str]
    read: Callable[[bytes], str]
    margin: float = 12.0
    remedy: str = _SAVE

    def bits(self, cell: bytes) -> float:
        """Return the improbability of a cell in this encoding, in bits."""
        # Only a file that is not ASCII needs it, and most cold starts see none.
        from .languages import cost

        try:
            return cost(self.read(cell), self.languages)
        except UnicodeError:
            return _UNDECODABLE + 8.0 * len(cell)


def _codec(name: str) -> Callable[[bytes], str]:
    return lambda cell: cell.decode(name)


def _twice(codec: str) -> Callable[[bytes], str]:
    """Decode UTF-8 that was read in another encoding, and saved as UTF-8 again."""

    def read(cell: bytes) -> str:
        return cell.decode().encode(codec).decode()

    return read


_UTF_8 = _Candidate("UTF-8", (), _codec("utf-8"), 10.0, f"{_SAY}=utf-8")
# Half-width katakana that are valid UTF-8 by chance are refused as UTF-8 unless that is clearly more probable.
_CP932 = _Candidate(
    "cp932", ("japanese", "katakana"), lambda cell: decoded(cell, CP932), -4.0, f"{_SAY}=cp932, or {_SAVE}"
)
_ISO_2022 = _Candidate("ISO-2022 or HZ, with escape sequences", (), bytes.decode)
_GAIJI = _Candidate("cp932 with characters of private use (gaiji), or another encoding", (), bytes.decode)
_LOST = _Candidate("a file that lost its characters in a conversion (U+FFFD)", (), bytes.decode, 0.0, _AGAIN)
_NAMED = {UTF_8: _UTF_8, CP932: _CP932}
_ASCII_ONLY = _Candidate("UTF-7", (), _codec("utf-7"))
_OTHERS = (
    _Candidate("EUC-JP", ("japanese",), _codec("euc_jp"), margin=3.0),
    # Half-width katakana take two bytes in EUC-JP, which are one ideograph in cp932.
    _Candidate("EUC-JP", ("katakana",), _codec("euc_jp"), margin=14.0),
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
    _ASCII_ONLY,
    *(
        _Candidate("UTF-8 that was once read as another encoding, and saved", (), _twice(codec), 12.0, _AGAIN)
        for codec in ("cp1252", "latin-1", "cp932")
    ),
)


def _may_be_utf_8(data: bytes) -> bool:
    """Check whether the first byte that is not ASCII can start a character: a cheap test that most cp932 fails."""
    found = _NO_ASCII.search(data)
    return found is not None and b"\xc2" <= found[0] <= b"\xf4"


def _is_utf_8(cell: bytes) -> bool:
    """Check whether a cell is far more probable in UTF-8 than in cp932."""
    return _UTF_8.bits(cell) + _MARGIN_OF_ROWS < _CP932.bits(cell)


class EncodingCheck:
    """Checks a file whose rows it sees one after the other, in constant memory.

    An ASCII row costs a scan; any other row is decoded, and compared while the sample has room.
    confirmed: a person says that the encoding is right; then every row need only be decodable.
    """

    def __init__(self, encoding: Encoding, *, confirmed: bool = False) -> None:
        self.encoding, self._confirmed = encoding, confirmed
        self._other = CP932 if encoding == UTF_8 else UTF_8
        self._whole: dict[Encoding, bool] = {UTF_8: True, CP932: True}
        self._sample = _Sample()
        # Rows of a cp932 file that are also valid UTF-8: they may come from another file.
        self._of_utf_8 = _Sample()
        # The first row that cannot be decoded, and the first one with a character of private use.
        self._undecodable: int | None = None
        self._private: int | None = None

    def see(self, number: int, data: bytes | None) -> None:
        """Inspect a row; 0 is the header. data: None if it is too long to keep. Raises WrongEncoding."""
        if data is None:
            return
        if (b"\x1b" in data or b"~{" in data) and not self._confirmed and _ESCAPES.search(data):
            raise self._wrong(number, _ISO_2022)
        if not data.isascii():
            self._read(number, data)
        elif b"+" in data:
            self._sample.add(number, data)

    def _read(self, number: int, data: bytes) -> None:
        text = _text(data, self.encoding)
        if text is None:
            self._whole[self.encoding] = False
            if self._undecodable is None:
                self._undecodable = number
                self._sample.make_room()
        if self._whole[self._other]:
            self._whole[self._other] = _text(data, self._other) is not None
        if self._sample.room > 0:
            self._sample.add(number, data)
        if self.encoding == CP932 and text is not None:
            if self._private is None and _PRIVATE.search(text):
                self._private = number
            if self._of_utf_8.room > 0 and _may_be_utf_8(data) and _text(data, UTF_8) is not None:
                self._of_utf_8.add(number, data)

    def end(self) -> None:
        """Check the whole file.

        Raises WrongEncoding if a row cannot be decoded, or another encoding is more probable.
        """
        if self._undecodable is not None:
            found = self._cheapest(lambda _: 0.0)
            mixed = found is _CP932 and any(map(_is_utf_8, self._sample.cells))
            raise self._wrong(self._undecodable, _UTF_8 if mixed else found)
        if self._confirmed or not self._sample.cells:
            return
        named, found = _NAMED[self.encoding], self._cheapest(lambda one: one.margin)
        if found is not named:
            raise self._wrong(self._sample.first(found, named), found)
        if self._of_utf_8.bits(_UTF_8) + _MARGIN_OF_ROWS < self._of_utf_8.bits(_CP932):
            raise self._wrong(self._of_utf_8.first(_UTF_8, _CP932), _UTF_8)
        if self._private is not None:
            raise self._wrong(self._private, _GAIJI)
        if lost := self._sample.lost():
            raise self._wrong(lost, _LOST)

    def _cheapest(self, margin: Callable[[_Candidate], float]) -> _Candidate:
        """Return the most probable encoding of the file. margin: bits by which another must be more probable."""
        named = _NAMED[self.encoding]
        others = [*_OTHERS, *(_NAMED[one] for one, whole in self._whole.items() if whole and one != self.encoding)]
        if all(map(bytes.isascii, self._sample.cells)):
            others = [_ASCII_ONLY]
        costs = [(self._sample.bits(one) + margin(one), one) for one in others]
        return min([(self._sample.bits(named), named), *costs], key=lambda cost: cost[0])[1]

    def _wrong(self, number: int, found: _Candidate) -> WrongEncoding:
        """Build the error. found: what the file looks like."""
        row, named = f"row {number}" if number else "the header", _NAMED[self.encoding]
        if found is named:
            return WrongEncoding(
                f"{row} is not {named.name}, although the file looks like {named.name}: correct the row"
            )
        remedy = found.remedy
        if self.encoding == CP932 and found.remedy == _SAVE:
            remedy += f", and {_SAY}=utf-8"
        if self._undecodable is None:
            remedy += "; if the file is right, import it with --encoding-confirmed"
        if found is _CP932 and self._undecodable is None:
            return WrongEncoding(f"{row} may be UTF-8, or half-width katakana in cp932: {remedy}")
        return WrongEncoding(f"{row} is not {named.name}; the file looks like {found.name}: {remedy}")


class _Sample:
    """Distinct cells that may have other characters in another encoding, each with the first row that has it."""

    def __init__(self) -> None:
        self.cells: dict[bytes, int] = {}
        self.room = _MAX_SAMPLE

    def make_room(self) -> None:
        """Make room for one more row, if the sample is full."""
        self.room = max(self.room, 1)

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
        """Return the first row that is more probable in another encoding, or else the first row."""
        rows = (row for cell, row in self.cells.items() if found.bits(cell) < named.bits(cell))
        return next(rows, next(iter(self.cells.values()), 0))

    def lost(self) -> int:
        """Return the first row with U+FFFD, if most cells have it, else 0: a single one is refused with its row."""
        rows = [row for cell, row in self.cells.items() if _REPLACEMENT in cell]
        return rows[0] if len(rows) > max(2, len(self.cells) // 2) else 0
