"""Reads a file once: its header, where its rows are, and which rows another row refuses."""

import hashlib
import json
from array import array
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from entities.types import Types
from runtime.csv_records import Record, Utf16Found, is_blank_row, records
from runtime.csv_signs import START, found_instead
from runtime.encodings import EncodingCheck, WrongEncoding

from . import codes
from .errors import FileRefused, InvalidImport
from .files import Files, Writer
from .layout import Layout, read_header, unclosed_quote
from .state import LAST_ROW, Import, ImportKey

MAX_ROWS = 2_000_000
"""Rows of a file, with those of empty cells."""
INDEX, DUPLICATES, MOVED, PLAN = "rows.csv", "duplicates", "moved", "plan.json"
"""Names in an import's folder `work/<import_id>/`: the Map's input, bits for each row, and what each batch needs."""
_JSON = "application/json"
_PROBE = 8 * 1024
# The hash of a row without a key.
_NONE = 0


type Place = tuple[int, Record]
"""A row and its position: from 1, with the rows of empty cells, which are passed over."""


@dataclass
class Keys:
    """The keys of all rows, as 64-bit hashes: 8 MB for a million rows, of which two collide in one of 10^7 files."""

    hashes: array[int] = field(default_factory=lambda: array("Q"))

    def put(self, position: int, cell: str) -> None:
        """The key of a row after all before; "" for none. The rows that were passed over have none."""
        if passed := position - 1 - len(self.hashes):
            self.hashes.extend([_NONE] * passed)
        self.hashes.append(_hash(cell) if cell else _NONE)

    def duplicates(self, *, keep_last: bool) -> "Duplicates":
        """The rows that another row of the same key refuses. keep_last: the last one of each key is not refused."""
        found = Duplicates(len(self.hashes))
        repeated = self._repeated()
        for index in range(len(self.hashes) - 1, -1, -1) if repeated else ():
            key = self.hashes[index]
            if key in repeated:
                if keep_last and key not in found.kept:
                    found.kept.add(key)
                else:
                    found.mark(index + 1)
        found.kept.clear()
        return found

    def moved(self, number: int, cell: str) -> bool:
        """Check whether this row has another key here, or does not exist. A row without a key may get any."""
        return number > len(self.hashes) or self.hashes[number - 1] not in (_NONE, _hash(cell))

    def _repeated(self) -> set[int]:
        repeated, before = set(), _NONE
        for key in sorted(self.hashes):
            if key == before != _NONE:
                repeated.add(key)
            before = key
        return repeated


@dataclass
class Duplicates:
    """A bit for each row of a file. size: rows of the file."""

    size: int
    bits: bytearray = field(init=False)
    count: int = 0
    kept: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.bits = bytearray(self.size // 8 + 1)

    @classmethod
    def read(cls, data: bytes) -> "Duplicates":
        """Read what `bits` were written as."""
        found = cls(len(data) * 8 - 8)
        found.bits = bytearray(data)
        return found

    def mark(self, position: int) -> None:
        self.bits[position // 8] |= 1 << position % 8
        self.count += 1

    def add(self, other: "Duplicates") -> None:
        """The rows of both."""
        self.bits = bytearray(mine | theirs for mine, theirs in zip(self.bits, other.bits, strict=True))
        self.count = sum(byte.bit_count() for byte in self.bits)

    def __contains__(self, position: int) -> bool:
        return position // 8 < len(self.bits) and bool(self.bits[position // 8] >> position % 8 & 1)


@dataclass(frozen=True, slots=True)
class Marks:
    """The rows that another row refuses, and those that have another key than in the chain's first file."""

    duplicates: Duplicates | None = None
    moved: Duplicates | None = None

    def of(self, position: int) -> dict[str, bool]:
        """The marks of a row, as arguments of its check."""
        marked = {"duplicate": self.duplicates, "moved": self.moved}
        return {name: bits is not None and position in bits for name, bits in marked.items()}


@dataclass(frozen=True, slots=True)
class Loaded:
    """The findings of the loader. last: the position of the last row; rows of empty cells were passed over.

    wrong: whether a row is refused by what the file says.
    """

    layout: Layout
    rows: int
    last: int
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
            "own_columns": self.layout.result_columns,
            "total_rows": self.rows,
            "unprocessed_rows": self.rows,
            LAST_ROW: self.last,
            "has_duplicates": self.duplicates.count > 0,
            "has_moved": self.moved.count > 0,
        }


@dataclass(frozen=True, slots=True)
class Scan:
    """A file that is being read: its layout, and the rows after the header."""

    layout: Layout
    rows: Iterator[Place]


@dataclass
class Reader:
    """Reads the file of one import. first: the keys of the chain's first file, for a corrected one.

    check: of its encoding; None if a person has confirmed it, or the file was accepted before.
    """

    import_: Import
    types: Types
    first: Keys | None = None
    check: EncodingCheck | None = None
    keys: Keys = field(default_factory=Keys)
    numbers: Keys = field(default_factory=Keys)
    moved: array[int] = field(default_factory=lambda: array("L"))
    rows: int = 0
    last: int = 0
    failed: int = 0

    def open(self, chunks: Iterator[bytes]) -> Scan:
        """Read the header. Raises FileRefused."""
        head, chunks = _start(chunks)
        try:
            found = self._checked(_records(chunks))
            layout = self._header(next(found, None), found)
        except FileRefused:
            what = found_instead(head)
            if not what:
                raise
            message = f"This is no CSV: {what}. Save the table as CSV in UTF-8, with commas."
            raise FileRefused(codes.NOT_CSV, "", message) from None
        return Scan(layout, _places(found, layout, blank=self.import_.counts_blank_rows))

    def _header(self, record: Record | None, rest: Iterator[Record]) -> Layout:
        options = self.import_.options
        try:
            return read_header(
                record,
                self.import_.type(self.types),
                options.encoding,
                corrected=self.import_.corrected,
                ignore=options.unknown_columns == "ignore",
            )
        except FileRefused as refused:
            if refused.code == codes.NOT_UTF_8:
                # The check says what the file looks like, once it has seen all of it.
                deque(rest, maxlen=0)
            raise

    def _checked(self, found: Iterator[Record]) -> Iterator[Record]:
        """The records of a file. After the last one, raises FileRefused if the file is in another encoding."""
        if self.check is None:
            yield from found
            return
        try:
            for number, record in enumerate(found):
                self.check.see(number, record.data)
                yield record
            self.check.end()
        except WrongEncoding as wrong:
            message = str(wrong)
            raise FileRefused(codes.WRONG_ENCODING, "", f"{message[0].upper()}{message[1:]}.") from None

    def see(self, layout: Layout, place: Place) -> None:
        """Take notice of the next row. Raises FileRefused."""
        position, record = place
        if not record.closed:
            raise unclosed_quote(f"Row {position}")
        if position > MAX_ROWS:
            raise FileRefused("TooManyRows", "", f"The file has more than {MAX_ROWS} rows. Split it.")
        self.rows, self.last = self.rows + 1, position
        self.keys.put(position, layout.key_cell(record.data))
        if layout.corrected:
            self.numbers.put(position, layout.number_cell(record.data))
            self._compare(layout, place)
        if self.import_.options.all_or_nothing_validation:
            self.failed += layout.row(position, record.data).refusal is not None

    def loaded(self, layout: Layout) -> Loaded:
        """Return what was found, after the last row."""
        duplicates = self.keys.duplicates(keep_last=self.import_.options.duplicates == "last")
        if layout.corrected:
            duplicates.add(self.numbers.duplicates(keep_last=False))
        moved = Duplicates(self.last)
        for position in self.moved:
            moved.mark(position)
        wrong = self.failed + duplicates.count + moved.count > 0
        return Loaded(layout, self.rows, self.last, duplicates, moved, wrong)

    def _compare(self, layout: Layout, place: Place) -> None:
        """Note a row that has another key than before."""
        position, record = place
        number, code = layout.number(record.data), layout.code(record.data)
        if self.first is not None and number and code and self.first.moved(number, code):
            self.moved.append(position)


@dataclass(frozen=True, slots=True)
class Loader:
    """Loads the file of an import that runs in batches of the Map."""

    files: Files
    types: Types

    def load(self, import_: Import) -> Loaded:
        """Write the index of the rows and the plan, in constant memory. Raises FileRefused, BucketUnavailable."""
        try:
            return self._load(import_)
        except InvalidImport as gone:
            # Nothing but its end is left for an import whose file, or type, was removed since its creation.
            raise FileRefused(InvalidImport.__name__, "", str(gone)) from None

    def _load(self, import_: Import) -> Loaded:
        reader = self.reader(import_)
        scan = reader.open(self.files.stream(import_.source))
        index = self.index(import_)
        for place in scan.rows:
            reader.see(scan.layout, place)
            index.add(place)
        index.close()
        found = reader.loaded(scan.layout)
        for name, marked in ((DUPLICATES, found.duplicates), (MOVED, found.moved)):
            if marked.count:
                self.files.put(import_.key.work + name, bytes(marked.bits), "application/octet-stream")
        plan = {**import_.values, **found.values}
        self.files.put(import_.key.work + PLAN, json.dumps(plan).encode(), _JSON)
        return found

    def index(self, import_: Import) -> "Index":
        """Writes where the rows are, in constant memory."""
        return Index(self.files.writer(import_.key.work + INDEX))

    def reader(self, import_: Import) -> Reader:
        """Raises BucketUnavailable."""
        first = self._first_keys(import_) if import_.corrected else None
        options = import_.options
        return Reader(
            import_, self.types, first, None if options.encoding_confirmed else EncodingCheck(options.encoding)
        )

    def _first_keys(self, import_: Import) -> Keys | None:
        """The keys of the chain's first file: none if it is gone, None if it was refused and no row was ever known."""
        first = import_.having(**import_.values["first_file"], corrected=False)
        keys = Keys()
        try:
            for layout, position, record in self.reread(first):
                if position > MAX_ROWS:
                    break
                keys.put(position, layout.code(record.data))
        except InvalidImport:
            return Keys()
        except FileRefused:
            return None
        return keys

    def fits(self, import_: Import, max_rows: int) -> list[bytes] | None:
        """The chunks of a file with at most `max_rows` rows; None if it has more, and then the rest is not read."""
        kept = bytearray()
        stream = self.files.stream(import_.source, _PROBE)
        max_bytes = (max_rows + 2) * codes.MAX_ROW

        def noted() -> Iterator[bytes]:
            for chunk in stream:
                kept.extend(chunk)
                yield chunk
                # A quote that is open makes one row of a file of any size.
                if len(kept) > max_bytes:
                    return

        try:
            count = self._count(import_, chunks := noted(), max_rows + 1)
        except FileRefused as refused:
            # The start of the file is enough to refuse it, but not to say which encoding it looks like.
            count = 0
            if refused.code == codes.NOT_UTF_8:
                deque(chunks, maxlen=0)
        stream.close()
        return [bytes(kept)] if count <= max_rows and len(kept) <= max_bytes else None

    def _count(self, import_: Import, chunks: Iterator[bytes], most: int) -> int:
        """Count the rows, up to `most`. Raises FileRefused."""
        rows = Reader(import_, self.types).open(chunks).rows
        return sum(1 for _ in islice(rows, most))

    def reread(self, import_: Import) -> Iterator[tuple[Layout, int, Record]]:
        """Read the file again, row by row, with the position of each. Raises FileRefused, BucketUnavailable."""
        scan = Reader(import_, self.types).open(self.files.stream(import_.source))
        for position, record in scan.rows:
            yield scan.layout, position, record


@dataclass(frozen=True, slots=True)
class Index:
    """The file that the Map reads: a line for each row."""

    writer: Writer

    def __post_init__(self) -> None:
        self.writer.write(b"row,offset,length\n")

    def add(self, place: Place) -> None:
        """Raises BucketUnavailable."""
        position, record = place
        # Numbers need no quotes and no guard, which would cost more than the rest of the index.
        self.writer.write(b"%d,%d,%d\n" % (position, record.offset, record.length))

    def close(self) -> None:
        """Raises BucketUnavailable."""
        self.writer.close()


def planned(files: Files, import_id: str) -> Import:
    """Read what a batch needs of an import, as the loader wrote it."""
    values = json.loads(files.read(f"work/{import_id}/{PLAN}"))
    return Import(ImportKey(values["tenant_code"], values["import_id"]), values)


def marks_of(files: Files, loaded: Import) -> Marks:
    """Read the marks of its rows, as the loader wrote them."""

    def read(name: str) -> Duplicates | None:
        return Duplicates.read(files.read(loaded.key.work + name)) if loaded.values.get(f"has_{name}") else None

    return Marks(read(DUPLICATES), read(MOVED))


def _start(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The start of a file, and all of it."""
    read: list[bytes] = []
    while sum(map(len, read)) < START and (chunk := next(chunks, None)) is not None:
        read.append(chunk)
    return b"".join(read)[:START], chain(read, chunks)


def _places(found: Iterator[Record], layout: Layout, *, blank: bool) -> Iterator[Place]:
    """Rows with their positions. blank: also those of empty cells."""
    for position, record in enumerate(found, start=1):
        if blank or not is_blank_row(record.data, layout.encoding):
            yield position, record


def _records(chunks: Iterator[bytes]) -> Iterator[Record]:
    try:
        first = next(found := records(chunks, codes.MAX_ROW), None)
    except Utf16Found:
        raise FileRefused(codes.NOT_UTF_8, "", "The file is in UTF-16. Save it as CSV in UTF-8.") from None
    return chain([first] if first else [], found)


def _hash(cell: str) -> int:
    return int.from_bytes(hashlib.blake2b(cell.encode(), digest_size=8).digest()) or 1
