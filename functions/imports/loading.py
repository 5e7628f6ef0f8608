"""Reads a file once: its header, where its rows are, and which rows another row refuses."""

import json
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from entities.types import Types
from runtime.csv_records import Record, Utf16Found, records

from . import codes
from .errors import FileRefused, InvalidImport
from .files import Files
from .layout import Layout, read_header
from .rows_index import Duplicates, Keys, Marks
from .state import Import

MAX_ROWS = 2_000_000
INDEX, DUPLICATES, MOVED, PLAN = "rows.csv", "duplicates", "moved", "plan.json"
"""Names in an import's folder `work/<import_id>/`: the Map's input, bits for each row, and what each batch needs."""
_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the loader found. wrong: whether a row is refused by what the file says."""

    layout: Layout
    rows: int
    duplicates: Duplicates
    moved: Duplicates
    wrong: bool = False

    @property
    def marks(self) -> Marks:
        return Marks(self.duplicates, self.moved)

    @property
    def values(self) -> dict[str, Any]:
        """For the import's row. Until they are processed, all rows are unprocessed."""
        return {
            "columns": list(self.layout.names),
            "own_columns": self.layout.own,
            "total_rows": self.rows,
            "unprocessed_rows": self.rows,
            "has_duplicates": self.duplicates.count > 0,
            "has_moved": self.moved.count > 0,
        }


@dataclass(frozen=True, slots=True)
class Scan:
    """A file that is being read: its layout, and the rows after the header."""

    layout: Layout
    rows: Iterator[Record]


@dataclass
class Reader:
    """Reads the file of one import. first: the keys of the chain's first file, for a corrected one."""

    made: Import
    types: Types
    first: Keys | None = None
    keys: Keys = field(default_factory=Keys)
    numbers: Keys = field(default_factory=Keys)
    moved: array[int] = field(default_factory=lambda: array("L"))
    rows: int = 0
    failed: int = 0

    def open(self, chunks: Iterator[bytes]) -> Scan:
        """Read the header. Raises FileRefused."""
        found = _records(chunks)
        options = self.made.options
        layout = read_header(
            next(found, None),
            self.made.type(self.types),
            options.encoding,
            corrected=self.made.corrected,
            ignore=options.unknown_columns == "ignore",
        )
        return Scan(layout, found)

    def see(self, layout: Layout, record: Record) -> None:
        """Take notice of the next row. Raises FileRefused."""
        self.rows += 1
        if self.rows > MAX_ROWS:
            raise FileRefused("TooManyRows", "", f"The file has more than {MAX_ROWS} rows. Split it.")
        self.keys.add(layout.key_cell(record.data))
        if layout.corrected:
            self.numbers.add(layout.number_cell(record.data))
            self._compare(layout, record)
        if self.made.options.all_or_nothing_validation:
            self.failed += layout.row(self.rows, record.data).refusal is not None

    def loaded(self, layout: Layout) -> Loaded:
        """What was found, after the last row."""
        duplicates = self.keys.duplicates(keep_last=self.made.options.duplicates == "last")
        if layout.corrected:
            duplicates.add(self.numbers.duplicates(keep_last=False))
        moved = Duplicates(self.rows)
        for position in self.moved:
            moved.mark(position)
        return Loaded(layout, self.rows, duplicates, moved, self.failed + duplicates.count + moved.count > 0)

    def _compare(self, layout: Layout, record: Record) -> None:
        """Note a row that has another key than before."""
        number, code = layout.number(record.data), layout.code(record.data)
        if self.first is not None and number and code and self.first.moved(number, code):
            self.moved.append(self.rows)


@dataclass(frozen=True, slots=True)
class Loader:
    """Loads the file of an import that runs in batches of the Map."""

    files: Files
    types: Types

    def load(self, made: Import) -> Loaded:
        """Write the index of the rows and the plan, in constant memory. Raises FileRefused, BucketUnavailable."""
        try:
            return self._load(made)
        except InvalidImport as gone:
            # Nothing but its end is left for an import whose file, or type, was removed since its creation.
            raise FileRefused(InvalidImport.__name__, "", str(gone)) from None

    def _load(self, made: Import) -> Loaded:
        reader = self.reader(made)
        scan = reader.open(self.files.stream(made.source))
        index = self.files.writer(made.key.work + INDEX)
        index.row(("row", "offset", "length"))
        for record in scan.rows:
            reader.see(scan.layout, record)
            index.row((reader.rows, record.offset, record.length))
        index.close()
        found = reader.loaded(scan.layout)
        for name, marked in ((DUPLICATES, found.duplicates), (MOVED, found.moved)):
            if marked.count:
                self.files.put(made.key.work + name, bytes(marked.bits), "application/octet-stream")
        plan = {**made.values, **found.values}
        self.files.put(made.key.work + PLAN, json.dumps(plan).encode(), _JSON)
        return found

    def reader(self, made: Import) -> Reader:
        """Raises BucketUnavailable."""
        return Reader(made, self.types, self._first_keys(made) if made.corrected else None)

    def _first_keys(self, made: Import) -> Keys | None:
        """The keys of the chain's first file: none if it is gone, None if it was refused and no row was ever known."""
        values = {**made.values, **made.values["first_file"], "corrected": False}
        keys = Keys()
        try:
            for layout, _, record in islice(self.reread(Import(made.key, values)), MAX_ROWS):
                keys.add(layout.code(record.data))
        except InvalidImport:
            return Keys()
        except FileRefused:
            return None
        return keys

    def fits(self, made: Import, max_rows: int) -> list[bytes] | None:
        """The chunks of a file with at most `max_rows` rows; None if it has more, and then the rest is not read."""
        kept = bytearray()
        stream = self.files.stream(made.source, _PROBE)
        max_bytes = (max_rows + 2) * codes.MAX_ROW

        def noted() -> Iterator[bytes]:
            for chunk in stream:
                kept.extend(chunk)
                yield chunk
                # A quote that is open makes one row of a file of any size.
                if len(kept) > max_bytes:
                    return

        try:
            # The header, the rows, and one more.
            count = sum(1 for _ in islice(_records(noted()), max_rows + 2))
        except FileRefused:
            # The start of the file is enough to refuse it.
            count = 0
        stream.close()
        return [bytes(kept)] if count <= max_rows + 1 and len(kept) <= max_bytes else None

    def reread(self, made: Import) -> Iterator[tuple[Layout, int, Record]]:
        """Read the file again, row by row, with the position of each. Raises FileRefused, BucketUnavailable."""
        scan = Reader(made, self.types).open(self.files.stream(made.source))
        for position, record in enumerate(scan.rows, start=1):
            yield scan.layout, position, record


_PROBE = 8 * 1024


def _records(chunks: Iterator[bytes]) -> Iterator[Record]:
    try:
        first = next(found := records(chunks, codes.MAX_ROW), None)
    except Utf16Found:
        raise FileRefused(codes.NOT_UTF_8, "", "The file is in UTF-16. Save it as CSV in UTF-8.") from None
    return chain([first] if first else [], found)
