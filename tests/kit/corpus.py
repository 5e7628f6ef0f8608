"""Reads a folder of CSV and ZIP files as an import does, and with Python's csv module, and compares every cell.

`python -m tests.kit.corpus FOLDER` prints a table. Each file is imported with `validate_only`, in this process: the
functions' code over the emulator's S3 and DynamoDB. Files of people have other columns than ours, so the import gets
each record behind a code and a name, under a separate header; the record's bytes are untouched.
"""

import csv
import io
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from entities.types import EntityType, Types
from imports.archive import Archive
from imports.errors import ArchiveRefused
from imports.files import read_rows
from imports.layout import Row
from runtime.csv_records import Utf16Found, records
from runtime.encodings import CP932, UTF_8, Encoding
from tests.kit.engines import in_process
from tests.kit.import_world import ImportWorld

_SHOWN = 3
# Longer files are loaded and compared; running their batches would say nothing more.
_RUN = 300
_MAX_CELL = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison. outcome: the import's status or error code. refused: rows. differences: cells, in words."""

    name: str
    encoding: str
    outcome: str
    rows: int = 0
    refused: int = 0
    differences: tuple[str, ...] = ()


def compared(folder: Path) -> Iterator[Compared]:
    """Every CSV file below a folder, and every entry of its ZIP files."""
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix.lower() == ".csv" and path.is_file():
            yield compare(name, path.read_bytes())
        elif path.suffix.lower() == ".zip" and path.is_file():
            data = path.read_bytes()
            try:
                archive = Archive(lambda offset, length, data=data: data[offset : offset + length], len(data))
                for entry, chunks in archive.contents():
                    yield compare(f"{name}/{entry.name}", b"".join(chunks))
            except ArchiveRefused as refused:
                yield Compared(name, "", refused.error()["code"])


def compare(name: str, data: bytes) -> Compared:
    """Import one file, and compare the rows that would be stored."""
    encoding = _encoding(data)
    expected = _second_reader(data, encoding)
    if not expected:
        return Compared(name, encoding, "no rows")
    world = ImportWorld(in_process.ministack().client(), types=_types(width := len(expected[0])))
    try:
        content = b"".join(_framed(data, width))
    except Utf16Found:
        return Compared(name, encoding, "UTF-16")
    options = {"encoding": encoding, "unknown_columns": "ignore"}
    import_id = world.create(content, type="ROW", processing_mode="STEP_FUNCTION", validate_only=True, options=options)
    world.load(import_id)
    made = world.made(import_id)
    if "error" in made.values:
        return Compared(name, encoding, str(made.values["error"]["code"]))
    pointers = world.pointers(made)
    layout = made.layout(world.types)
    contents = read_rows(world.files, made, pointers)
    rows = [layout.row(one.row, contents.get(one.offset)) for one in pointers]
    if len(rows) <= _RUN:
        for first in pointers[::100]:
            world.batch(import_id, first.row)
        world.finish(import_id)
    differences = tuple(_differences(rows, expected, width))
    refused = sum(row.refusal is not None for row in rows)
    return Compared(name, encoding, str(world.made(import_id).status), len(rows), refused, differences)


def _encoding(data: bytes) -> Encoding:
    """The encoding to import with: UTF-8, the default, if it decodes the file."""
    try:
        data.decode(UTF_8)
    except UnicodeDecodeError:
        return CP932 if _decodes(data, CP932) else UTF_8
    return UTF_8


def _decodes(data: bytes, encoding: Encoding) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _second_reader(data: bytes, encoding: Encoding) -> list[list[str]]:
    """The rows of a file as Python's csv module reads them, without blank lines and rows of empty cells."""
    # The limit is the process's: other readers in it must keep theirs.
    before = csv.field_size_limit(_MAX_CELL)
    text = data.decode("utf-8-sig" if encoding == UTF_8 else encoding, "replace")
    try:
        found = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error:
        return []
    finally:
        csv.field_size_limit(before)
    return [row for row in found if any(cell.strip() for cell in row)]


def _types(width: int) -> Types:
    fields: list[tuple[str, Any, Any]] = [(f"c{number}", str | None, None) for number in range(1, width + 1)]
    return Types([EntityType("ROW", schema=msgspec.defstruct("Row", fields))], [])


def _framed(data: bytes, width: int) -> Iterator[bytes]:
    """A file for the import: a header, and each record behind a code and a name."""
    yield (",".join(["code", "name", *(f"c{number}" for number in range(1, width + 1))]) + "\n").encode()
    number = 0
    for record in records([data], _MAX_CELL):
        if record.data is not None and record.data.strip(b', "\t'):
            number += 1
            yield b"r%d,n,%b\n" % (number, record.data)


def _differences(rows: Sequence[Row], expected: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    if len(rows) != len(expected):
        yield f"{len(rows)} rows instead of {len(expected)}"
    for number, (row, cells) in enumerate(zip(rows, expected, strict=False), start=1):
        if row.refusal:
            if row.refusal.code == "RaggedRow" and len(cells) == width:
                yield f"row {number}: RaggedRow with {width} cells"
            continue
        stored = row.attributes or {}
        for column in range(max(width, len(cells))):
            cell = cells[column] if column < len(cells) else ""
            value = stored.get(f"c{column + 1}") or ""
            if unicodedata.normalize("NFC", cell).strip() != unicodedata.normalize("NFC", value).strip():
                yield f"row {number}, column {column + 1}"


def main(folder: Path) -> int:
    """Print the table. Returns 1 if a cell differs."""
    found = list(compared(folder))
    wide = max((len(one.name) for one in found), default=4)
    line = f"{{:{wide}}}  {{:8}}  {{:24}}  {{:>7}}  {{:>7}}  {{}}\n"
    sys.stdout.write(line.format("file", "encoding", "outcome", "rows", "refused", "differences"))
    for one in found:
        shown = "; ".join(one.differences[:_SHOWN]) + (" ..." if len(one.differences) > _SHOWN else "")
        cells = f"{len(one.differences)}: {shown}" if shown else "0"
        sys.stdout.write(line.format(one.name, one.encoding, one.outcome, one.rows, one.refused, cells))
    different = sum(bool(one.differences) for one in found)
    sys.stdout.write(f"{len(found)} files, {different} with differences\n")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
