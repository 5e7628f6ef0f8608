"""The encoding of a file of users. A wrong one must reject the whole file, or some rows would pass with wrong names.

cp932 bytes may be valid UTF-8 by chance (above all pairs of half-width katakana), and most UTF-8 is valid cp932.
"""

import re

from runtime.encodings import CP932, UTF_8, Encoding, decoded

from .errors import WrongEncoding

# A cell of half-width katakana, with ASCII but without letters and without punctuation, which no name has. Western
# names have letters; a Cyrillic one may match by chance.
_KATAKANA = re.compile(rb"[^A-Za-z\x80-\xa4\xe0-\xff]+")
# Latin-1 decodes as cp932 too, to ideographs between Latin letters.
_MIXED = re.compile(r"[A-Za-z][^\x00-\x7f]|[^\x00-\x7f][A-Za-z]")
# The command's option; the input's field has the same name.
_SAY = "import it with --encoding"


class EncodingCheck:
    """Checks each row of a file once, and rejects the file as soon as a row is not in its encoding.

    encoding: None if the input does not give it; then UTF-8, unless the file could also be cp932.
    """

    def __init__(self, encoding: Encoding | None) -> None:
        self._encoding = encoding
        self._all_utf_8 = True
        self._cells = 0
        self._katakana = 0

    def see(self, number: int, data: bytes) -> None:
        """Raises WrongEncoding, which names the row."""
        cells = [cell for cell in data.split(b",") if not cell.isascii()]
        self._cells += len(cells)
        self._katakana += sum(_KATAKANA.fullmatch(cell) is not None for cell in cells)
        self._all_utf_8 &= _is(data, UTF_8)
        if not _is(data, self._encoding or UTF_8):
            raise WrongEncoding(f"row {number} is not {_advice(data, self._encoding or UTF_8)}")

    def end(self) -> None:
        """Raises WrongEncoding if every row can be decoded, but the file may be in the other encoding."""
        if not self._cells or not self._all_utf_8:
            return
        ambiguous = 2 * self._katakana >= self._cells
        if ambiguous and self._encoding is None:
            raise WrongEncoding(f"the file may be UTF-8, or half-width katakana in cp932: {_SAY}=utf-8 or {_SAY}=cp932")
        if not ambiguous and self._encoding == CP932:
            raise WrongEncoding(f"the file looks like UTF-8, not cp932: {_SAY}=utf-8")


def _is(data: bytes, encoding: Encoding) -> bool:
    try:
        decoded(data, encoding)
    except UnicodeDecodeError:
        return False
    return True


def _advice(data: bytes, encoding: Encoding) -> str:
    if encoding == CP932:
        return f"cp932: save the file as CSV in UTF-8, and {_SAY}=utf-8"
    if _is(data, CP932) and not _MIXED.search(decoded(data, CP932)):
        return f"UTF-8; the file looks like cp932 (Excel, Japanese): {_SAY}=cp932, or save it as CSV in UTF-8"
    return f"UTF-8: save the file as CSV in UTF-8, or, if it is cp932, {_SAY}=cp932"
