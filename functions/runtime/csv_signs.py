"""Recognizes a file that is not CSV, or the separator of its columns, by its start, for the message that rejects it."""

import re
from collections.abc import Collection, Sequence

from .csv_records import UTF_16

START = 4096
"""Bytes at the start of a file that are inspected."""

# By the first bytes. The workbook's are in the ZIP's first names, which are not compressed.
_BINARY = {
    b"PK\x05\x06": "an empty ZIP archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an Excel workbook (.xls) or another Office document",
    b"\x1f\x8b": "gzip",
    b"BZh91AY&SY": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"%PDF-": "PDF",
    b"{\\rtf": "RTF",
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"PAR1": "Parquet",
    b"SQLite format 3": "an SQLite database",
}
_WORKBOOKS = re.compile(rb"\[Content_Types\]\.xml|_rels/|xl/|docProps/|mimetypeapplication/vnd\.oasis|Index/")
_HTML = re.compile(r"<(?:!doctype html|html|head|body|table|meta|script|div|!--)", re.IGNORECASE)
_SEPARATORS = {
    ";": "`;`",
    "\t": "a tab",
    "|": "`|`",
    "，": "a full-width comma",
    "；": "a full-width semicolon",
    "、": "`、`",
    ":": "`:`",
    "^": "`^`",
    "~": "`~`",
    "\x01": "the control character U+0001",
    "\x1f": "the control character U+001F",
    " ": "a space",
}
_BOM = "\ufeff"


def found_instead(head: bytes) -> str:
    """Describe a file that is not CSV, in words; "" if it may be CSV. head: its first bytes, START or more."""
    if not head:
        return "the file has no bytes"
    if head.startswith(UTF_16):
        # The byte order mark is reported elsewhere, as Utf16Found.
        return ""
    if head.startswith(b"PK\x03\x04"):
        what = "an Excel workbook (.xlsx) or another spreadsheet" if _WORKBOOKS.search(head) else "a ZIP archive"
        return f"the file is {what}"
    for magic, what in _BINARY.items():
        if head.startswith(magic):
            return f"the file is {what}"
    if order := _utf_16(head):
        return f"the file is UTF-16{order} without a mark"
    return _text_instead(head)


def _text_instead(head: bytes) -> str:
    text = head.decode("utf-8", "replace").lstrip(_BOM).lstrip()
    if not text:
        return "the file has only blank lines" if head.strip(b"\xef\xbb\xbf") else "the file has only a byte order mark"
    if "\x00" in text:
        return "the file is binary: it has bytes 0"
    if text.startswith("<"):
        return f"the file is {'HTML' if _HTML.match(text) or '<html' in text.lower() else 'XML'}"
    if text.startswith(("{", "[")):
        return "the file is JSON"
    return ""


def separator(header: str, wanted: Collection[str]) -> str:
    """Name the separator that a header has instead of commas, in words; "" if unknown.

    header: the first record. wanted: names of columns.
    """
    line = header.strip().lstrip(_BOM)
    if match := re.match(r'"?sep=(.?)"?', line, re.IGNORECASE):
        return f"the first line is `sep={match[1]}`, which only Excel reads"
    if re.fullmatch(r'"[^"]*,[^"]*"', line) and _hits(line.split(","), wanted) > 1:
        return "one column; a quote before and after the whole line hides its commas"
    best = max(_SEPARATORS, key=lambda one: _hits(line.split(one), wanted))
    if _hits(line.split(best), wanted) > _hits(line.split(","), wanted) or (line.count(best) > line.count(",") == 0):
        columns = line.count(",") + 1
        return f"{'one column' if columns == 1 else f'{columns} columns'}; the separator looks like {_SEPARATORS[best]}"
    return ""


def _hits(names: Sequence[str], wanted: Collection[str]) -> int:
    return len({name.strip(" \"'") for name in names} & set(wanted))


def _utf_16(head: bytes) -> str:
    """Recognize UTF-16 by the zero bytes of ASCII characters. A file is mostly ASCII where it names its columns."""
    start = head[:64]
    even, odd = start[::2].count(0), start[1::2].count(0)
    if len(start) < 4 or 2 * max(even, odd) < len(start) // 2 or min(even, odd):
        return ""
    return " (little-endian)" if odd else " (big-endian)"
