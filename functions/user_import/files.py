"""The files of an import: the imported file with its rows, and the result files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from runtime import encodings
from runtime.csv_signs import found_instead
from runtime.encodings import UTF_8, Encoding, EncodingCheck

from . import results
from .bucket import Bucket, Source, Stored, date_in_name, folder_of
from .csv_file import MAX_ROW, Record, RowPointer, parse_header, parse_row, records
from .errors import (
    InvalidHeader,
    InvalidImport,
    InvalidResultFile,
    InvalidRow,
    NoImportFile,
    RowTooLong,
    TooManyRows,
    UnclosedQuote,
    WrongEncoding,
)
from .results import NOT_REGISTERED, Outcome, Result, ResultKey
from .retry import Kept, began, content, import_noted
from .user import ProfileNames, profile_names

_MAX_COUNTED = 1_000_000
# Bytes. The longest result of 3,000 rows needs a third of it.
_MAX_RESULT = 4 * 1024 * 1024
# A key that has changed meanwhile has another import's result, or our own, put again by the SDK after a lost answer.
_ROUNDS = 4
# Uploads to this folder start no import. They expire like files with the prefix.
_MANUAL = "manual/"


@dataclass(frozen=True, slots=True)
class Rows:
    """columns: of the header. pointers: of all rows that are not empty. profiles: every pair of names that a row uses.

    contents: identifies each row for `retry`; b"" for an unreadable one.
    """

    columns: tuple[str, ...]
    pointers: list[RowPointer]
    profiles: frozenset[ProfileNames]
    contents: list[bytes]


@dataclass(frozen=True, slots=True)
class Files:
    """prefix: of the names of files to import. max_rows: per import."""

    bucket: Bucket
    prefix: str
    max_rows: int

    def newest(self) -> Source:
        """The file with the latest date in its name. Raises NoImportFile."""
        dated = {date: key for key in self.bucket.keys(self.prefix) if (date := date_in_name(key, self.prefix))}
        if not dated:
            raise NoImportFile(f"the bucket has no file {self.prefix}<yyyymmdd>.csv")
        return self.bucket.source(dated[max(dated)])

    def chosen(self, key: str | None, version_id: str | None, field: str = "key") -> Source:
        """The requested file, or the newest. field: of the input that names it. Raises InvalidImport, NoImportFile."""
        if key is None:
            return self.newest()
        if date_in_name(key, self.prefix) is None:
            raise InvalidImport(f"{field}: must end in {self.prefix}<yyyymmdd>.csv")
        if not key.startswith((self.prefix, _MANUAL)):
            raise InvalidImport(
                f"{field}: must be in no folder, or below {_MANUAL}; elsewhere passwords would never expire"
            )
        return self.bucket.source(key, version_id)

    def check_start(
        self, source: Source, defaults: ProfileNames, encoding: Encoding | None = None, *, confirmed: bool = False
    ) -> None:
        """Raises InvalidHeader. For a short file, which this reads completely, also what `count` raises."""
        head = self.bucket.part(source, 0, MAX_ROW)
        try:
            if len(head) < MAX_ROW:
                self._count([head], defaults, encoding or UTF_8, confirmed)
            else:
                _header(records(self.bucket.stream(source)))
        except (InvalidHeader, RowTooLong, UnclosedQuote):
            if what := found_instead(head):
                raise InvalidHeader(f"{what}; save the table as CSV in UTF-8, with commas") from None
            raise

    def count(
        self, source: Source, defaults: ProfileNames, encoding: Encoding | None = None, *, confirmed: bool = False
    ) -> Rows:
        """Read the whole file, once, in constant memory. confirmed: the encoding is right, whatever it looks like.

        Raises InvalidHeader, UnclosedQuote, RowTooLong, WrongEncoding, TooManyRows, NoImportFile, BucketUnavailable.
        """
        return self._count(self.bucket.stream(source), defaults, encoding or UTF_8, confirmed)

    def _count(self, chunks: Iterable[bytes], defaults: ProfileNames, encoding: Encoding, confirmed: bool) -> Rows:
        found = records(chunks, encoding)
        counting = _Counting(_header(found), defaults, EncodingCheck(encoding, confirmed=confirmed))
        try:
            count = 0
            for count, record in enumerate(found, start=1):
                if count > _MAX_COUNTED:
                    break
                if count <= self.max_rows:
                    counting.add(record)
            if count > self.max_rows:
                raise TooManyRows(_too_many(count, self.max_rows))
            return counting.rows()
        except encodings.WrongEncoding as wrong:
            raise WrongEncoding(str(wrong)) from None

    def result_key(self, origin: str, *, validate_only: bool) -> str:
        """The key of an import's result: beside the import's first file, with that file's date."""
        return str(ResultKey(folder_of(origin), date_in_name(origin, self.prefix) or "", validate_only))

    def origin(self, result: ResultKey) -> str:
        """The key of the file whose result this is: the inverse of `result_key`."""
        return f"{result.folder}{self.prefix}{result.date}.csv"

    def earlier(self, retry_of: Source) -> list[Result]:
        """The rows of an earlier result. Raises InvalidResultFile, NoImportFile, BucketUnavailable."""
        data = self.bucket.part(retry_of, 0, _MAX_RESULT + 1)
        if len(data) > _MAX_RESULT:
            raise InvalidResultFile("retry_of: longer than any result file")
        earlier = results.read(data)
        numbers = [0, *(result.csv_row for result in earlier)]
        if any(number >= following for number, following in pairwise(numbers)):
            raise InvalidResultFile("retry_of: its rows must have the numbers of the file's rows, in their order")
        return earlier

    def announce(self, key: str, rows: Iterable[Result], note: Mapping[str, str]) -> Source:
        """Write the result file that remains if the import is cut off, unless the import has a result already."""
        return self._write(key, rows, note, final=False)

    def register(self, key: str, rows: Iterable[Result], note: Mapping[str, str]) -> Source:
        """Write the result file in one put."""
        return self._write(key, rows, note, final=True)

    def _write(self, key: str, rows: Iterable[Result], note: Mapping[str, str], *, final: bool) -> Source:
        """Write under the import's own name if a newer import owns the key. final: replaces the import's first one."""
        data, own = results.write(rows), str(replace(ResultKey.parse(key), import_id=import_noted(note) or ""))
        for _ in range(_ROUNDS):
            standing = self._standing(key)
            if standing and import_noted(standing.metadata) == import_noted(note):
                if not final:
                    return standing.source
            elif standing and _is_newer(standing.metadata, note, final=final):
                key = own
                continue
            written = self.bucket.replace(key, data, note, standing)
            if written:
                return written
        return self.bucket.put(own, data, note)

    def _standing(self, key: str) -> Stored | None:
        try:
            return self.bucket.stored(key)
        except NoImportFile:
            return None


class _Counting:
    """The rows read so far."""

    def __init__(self, columns: tuple[str, ...], defaults: ProfileNames, check: EncodingCheck) -> None:
        self._columns = columns
        self._defaults = defaults
        self._check = check
        self._contents: list[bytes] = []
        self._pointers: list[RowPointer] = []
        self._profiles: set[ProfileNames] = {defaults}
        self._first_with: dict[str, int] = {}

    def add(self, record: Record) -> None:
        """Raises WrongEncoding of runtime."""
        number = record.number
        self._check.see(number, record.data)
        repeats, known = 0, b""
        try:
            row = parse_row(record.data, self._columns, self._check.encoding)
        except (InvalidRow, WrongEncoding):
            # UserCreate reports it for the row, and the check for the file.
            pass
        else:
            known = content(row)
            first = self._first_with.setdefault(row["username"], number)
            repeats = first if first != number and row["username"].strip() else 0
            self._profiles.add(profile_names(row, self._defaults))
        self._pointers.append(RowPointer(number, record.offset, len(record.data), repeats))
        self._contents.append(known)

    def rows(self) -> Rows:
        """Raises WrongEncoding of runtime."""
        self._check.end()
        return Rows(self._columns, self._pointers, frozenset(self._profiles), self._contents)


def merged(
    pointers: Iterable[RowPointer],
    outcomes: Iterable[Outcome],
    earlier: Sequence[Result],
    kept: Iterable[Kept],
    instance_arn: str,
    unnamed: Iterable[int] = (),
) -> list[Result]:
    """One result for every row: its outcome, or else the earlier result that it keeps.

    unnamed: numbers of rows without a pointer. A row without an outcome or an earlier result gets NotRegistered.
    """
    before = {result.csv_row: result for result in earlier}
    numbers = {*unnamed, *(pointer.number for pointer in pointers)}
    known = {number: Result.of(Outcome(number, NOT_REGISTERED), "") for number in numbers}
    known |= {one.number: replace(before[one.earlier], csv_row=one.number) for one in kept}
    known |= {outcome.number: Result.of(outcome, instance_arn) for outcome in outcomes}
    return [known[number] for number in sorted(known)]


def _is_newer(standing: Mapping[str, str], note: Mapping[str, str], *, final: bool) -> bool:
    """Check whether a newer import owns the key. Without a start, a result yields to a first result only."""
    theirs, own = began(standing), began(note)
    return not "" < theirs < own if final else own < theirs


def _header(found: Iterable[Record]) -> tuple[str, ...]:
    for record in found:
        return parse_header(record.data)
    raise InvalidHeader("the file is empty")


def _too_many(count: int, most: int) -> str:
    counted = f"more than {_MAX_COUNTED}" if count > _MAX_COUNTED else str(count)
    parts = -(-count // most)
    return (
        f"the file has {counted} rows, and one import takes {most}: split it into {parts} or more files, each with the "
        "header, and import one after the other"
    )
