"""The result files of imports: reasons of failed rows, and the files themselves."""

import filecmp
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from imports.files import Files
from imports.finalizing import NAMES
from imports.state import Import
from runtime.csv_records import cells, records

from .errors import CommandError
from .imports import ImportView
from .stack import Stack

# A row of a result has the row of the file and its message.
_MAX_ROW = 256 * 1024
_EXAMPLES = 5


class ImportNotEnded(CommandError):
    """The import has no results yet."""


class ResultsExist(CommandError):
    """Files of these names have other content, which may be a person's corrections."""

    def __init__(self, paths: Sequence[Path]) -> None:
        names = ", ".join(map(str, paths))
        super().__init__(f"--save: {names} would be replaced; choose another folder, or pass --force")


@dataclass(frozen=True, slots=True)
class Reason:
    """Rows that failed for one reason. message: what is wrong and how to fix it. examples: the first row numbers."""

    code: str
    column: str
    message: str
    rows: int
    examples: Sequence[str]


def reasons(stack: Stack, seen: ImportView) -> list[Reason]:
    """Return reasons of failed rows, by failed.csv, most frequent first. Reads no value of a row.

    Raises BucketUnavailable.
    """
    rows: Counter[tuple[str, str, str]] = Counter()
    examples: dict[tuple[str, str, str], list[str]] = {}
    for made in _with_results(seen):
        for number, *reason in _failed(stack, made):
            key = (reason[0], reason[1], reason[2])
            rows[key] += 1
            if rows[key] <= _EXAMPLES and number:
                examples.setdefault(key, []).append(f"{_entry(made)}{number}")
    return [Reason(*key, count, examples.get(key, [])) for key, count in rows.most_common()]


def check_folder(folder: Path) -> None:
    """Check that the folder has no results, of any import: a person may have corrected them. Raises ResultsExist."""
    if found := [path for name in NAMES if (path := folder / f"{name}.csv").exists()]:
        raise ResultsExist(found)


def save(stack: Stack, seen: ImportView, folder: Path, *, force: bool = False) -> list[Path]:
    """Save the result files of an import that has ended; for a ZIP, each file's results in a separate folder.

    force: replace files of the same names. Raises ImportNotEnded; ResultsExist, and then nothing is saved.
    """
    if not seen.made.status.final:
        raise ImportNotEnded(f"{seen.name} has not ended, so it has no results yet")
    keys = {
        folder / (made.key.import_id if seen.children else "") / f"{name}.csv": key
        for made in [seen.made, *seen.children]
        for name, key in made.values.get("results", {}).items()
    }
    unfinished = {path: path.with_name(f".{path.name}.part") for path in keys}
    try:
        for path, part in unfinished.items():
            path.parent.mkdir(exist_ok=True)
            _download(stack, keys[path], part)
        others = [path for path, part in unfinished.items() if path.exists() and not _are_equal(path, part)]
        if others and not force:
            raise ResultsExist(others)
        for path, part in unfinished.items():
            part.replace(path)
    finally:
        for part in unfinished.values():
            part.unlink(missing_ok=True)
    return list(keys)


def _download(stack: Stack, key: str, path: Path) -> None:
    body = stack.client("s3").get_object(Bucket=stack.outputs["ImportsBucket"], Key=key)["Body"]
    with path.open("wb") as file:
        shutil.copyfileobj(body, file)


def _are_equal(path: Path, other: Path) -> bool:
    return path.is_file() and filecmp.cmp(path, other, shallow=False)


def _with_results(seen: ImportView) -> list[Import]:
    return [
        made for made in (seen.children or [seen.made]) if made.values.get("results") and made.values["failed_rows"]
    ]


def _failed(stack: Stack, made: Import) -> Iterator[list[str]]:
    """Yield row number, code, column and message of each row of failed.csv."""
    files = Files(stack.client("s3"), stack.outputs["ImportsBucket"])
    found = records(files.own_stream(made.values["results"]["failed"]), _MAX_ROW)
    next(found, None)
    for record in found:
        yield cells(record.data or b"")[:4]


def _entry(made: Import) -> str:
    """Return the name of a ZIP's file."""
    return f"{made.key.import_id.rpartition('-')[2]}:" if "parent_id" in made.values else ""
