"""The files of an import: which one, which of its rows, and the results that it ends in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from . import results
from .bucket import Bucket, Source, date_in_name, folder_of
from .csv_file import LONGEST_ROW, Record, RowPointer, parse_header, parse_row, records
from .errors import InvalidHeader, InvalidImport, InvalidResultFile, InvalidRow, NoImportFile, TooManyRows
from .outcomes import NOT_REGISTERED, Outcome
from .profiles import ProfileNames, profile_names
from .results import Result, ResultKey

_MOST_COUNTED = 1_000_000
# Bytes. The longest result of 3,000 rows comes to a third of it.
_LONGEST_RESULT = 4 * 1024 * 1024
# Uploads to this folder start nothing by themselves. The bucket lets go of them as of files of the prefix.
_MANUAL = "manual/"


@dataclass(frozen=True, slots=True)
class Rows:
    """columns: of the header. pointers: of all rows. profiles: every pair of names that a row asks for."""

    columns: tuple[str, ...]
    pointers: list[RowPointer]
    profiles: frozenset[ProfileNames]


@dataclass(frozen=True, slots=True)
class Files:
    """prefix: of the names of files to import. most_rows: that one import may have."""

    bucket: Bucket
    prefix: str
    most_rows: int

    def newest(self) -> Source:
        """The file with the latest date in its name. Raises NoImportFile."""
        dated = {date: key for key in self.bucket.keys(self.prefix) if (date := date_in_name(key, self.prefix))}
        if not dated:
            raise NoImportFile(f"the bucket has no file {self.prefix}<yyyymmdd>.csv")
        return self.bucket.source(dated[max(dated)])

    def chosen(self, key: str | None, version_id: str | None) -> Source:
        """The file that is asked for, or the newest. Raises InvalidImport, NoImportFile."""
        if key is None:
            return self.newest()
        if date_in_name(key, self.prefix) is None:
            raise InvalidImport(f"key: must end in {self.prefix}<yyyymmdd>.csv")
        if not key.startswith((self.prefix, _MANUAL)):
            raise InvalidImport(
                f"key: must be in no folder, or below {_MANUAL}; elsewhere passwords would stay for ever"
            )
        return self.bucket.source(key, version_id)

    def check_header(self, source: Source) -> None:
        """Raises InvalidHeader, or what else keeps the first line from being read."""
        head = self.bucket.part(source, 0, LONGEST_ROW)
        _header(records([head, b"\n"]))

    def count(self, source: Source, defaults: ProfileNames) -> Rows:
        """Read the whole file, once, in constant memory.

        Raises InvalidHeader, UnclosedQuote, RowTooLong, TooManyRows, NoImportFile, BucketUnavailable.
        """
        found = records(self.bucket.stream(source))
        counting = _Counting(_header(found), defaults)
        number = 0
        for number, record in enumerate(found, start=1):
            if number > _MOST_COUNTED:
                break
            if number <= self.most_rows:
                counting.add(number, record)
        if number > self.most_rows:
            raise TooManyRows(_too_many(number, self.most_rows))
        return counting.rows()

    def result_key(self, origin: str, *, validate_only: bool) -> str:
        """Where the result of an import belongs: beside the file that it began with, with the date of its name."""
        return str(ResultKey(folder_of(origin), date_in_name(origin, self.prefix) or "", validate_only))

    def origin(self, result: ResultKey) -> str:
        """The key of the file whose result this is: the opposite of `result_key`."""
        return f"{result.folder}{self.prefix}{result.date}.csv"

    def earlier(self, retry_of: Source) -> list[Result]:
        """The rows of an earlier result. Raises InvalidResultFile, NoImportFile, BucketUnavailable."""
        data = self.bucket.part(retry_of, 0, _LONGEST_RESULT + 1)
        if len(data) > _LONGEST_RESULT:
            raise InvalidResultFile("retry_of: longer than any result file")
        earlier = results.read(data)
        if [result.csv_row for result in earlier] != list(range(1, len(earlier) + 1)):
            raise InvalidResultFile("retry_of: its rows are not those of an import, from 1 to the last")
        return earlier

    def register(self, key: str, rows: Iterable[Result], metadata: Mapping[str, str]) -> Source:
        """Write the result file, in one put."""
        return self.bucket.put(key, results.write(rows), metadata)


class _Counting:
    """What is known of the rows that were read so far."""

    def __init__(self, columns: tuple[str, ...], defaults: ProfileNames) -> None:
        self._columns = columns
        self._defaults = defaults
        self._pointers: list[RowPointer] = []
        self._profiles: set[ProfileNames] = {defaults}
        self._first_with: dict[str, int] = {}

    def add(self, number: int, record: Record) -> None:
        repeats = 0
        try:
            row = parse_row(record.data, self._columns)
        except InvalidRow:
            # Its own task will say so.
            pass
        else:
            first = self._first_with.setdefault(row["username"], number)
            repeats = first if first != number and row["username"].strip() else 0
            self._profiles.add(profile_names(row, self._defaults))
        self._pointers.append(RowPointer(number, record.offset, len(record.data), repeats))

    def rows(self) -> Rows:
        return Rows(self._columns, self._pointers, frozenset(self._profiles))


def to_run(pointers: Sequence[RowPointer], earlier: Sequence[Result]) -> list[RowPointer]:
    """The rows that failed in an earlier result. Raises InvalidResultFile if it is of a file with other rows."""
    if len(pointers) != len(earlier):
        raise InvalidResultFile(
            f"retry_of: has {len(earlier)} rows, the file has {len(pointers)}; mend rows in their places, and "
            "neither add nor remove any"
        )
    return [pointer for pointer, result in zip(pointers, earlier, strict=True) if not result.succeeded]


def merged(
    pointers: Iterable[RowPointer], outcomes: Iterable[Outcome], earlier: Iterable[Result], instance_arn: str
) -> list[Result]:
    """One result for every row: what is known of it now, or else what was known before it ran again.

    A row without an outcome has the one that says so.
    """
    known = {result.csv_row: result for result in earlier}
    known |= {pointer.number: Result.of(Outcome(pointer.number, NOT_REGISTERED), "") for pointer in pointers}
    known |= {outcome.number: Result.of(outcome, instance_arn) for outcome in outcomes}
    return [known[number] for number in sorted(known)]


def _header(found: Iterable[Record]) -> tuple[str, ...]:
    for record in found:
        return parse_header(record.data)
    raise InvalidHeader("the file is empty")


def _too_many(count: int, most: int) -> str:
    counted = f"more than {_MOST_COUNTED}" if count > _MOST_COUNTED else str(count)
    parts = -(-count // most)
    return (
        f"the file has {counted} rows, and one import takes {most}: split it into {parts} or more files, each with the "
        "header, and import one after the other"
    )
