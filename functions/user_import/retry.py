"""A retry: which rows of the current file keep their results of an earlier import.

A result file has no row data, so its row 2 is row 2 of the imported version of the file, which stays in the bucket as
long as any passwords do. A row keeps its result if all its cells are the same in both files, wherever the row is. Any
other row runs, and finds the user that it created before, if there is one.
"""

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from runtime.encodings import CP932, UTF_8, Encoding

from .bucket import Source
from .csv_file import RowPointer
from .errors import InvalidResultFile
from .results import Result

_IMPORT, _KEY, _VERSION, _ENCODING = "import-id", "source-key", "source-version-id", "source-encoding"
_BEGAN = "import-began"


@dataclass(frozen=True, slots=True)
class Imported:
    """A file as an import has read it."""

    source: Source
    encoding: Encoding


@dataclass(frozen=True, slots=True)
class Kept:
    """number: of a row now. earlier: of the row whose result it keeps."""

    number: int
    earlier: int

    def __str__(self) -> str:
        return f"{self.number}:{self.earlier}"

    @classmethod
    def parse(cls, text: str) -> "Kept":
        """The inverse of str(). Raises ValueError."""
        number, earlier = text.split(":")
        return cls(int(number), int(earlier))


def note(import_id: str, imported: Imported, began: datetime | None) -> dict[str, str]:
    """Metadata of a result file: its import and its file. S3 accepts ASCII only."""
    source = imported.source
    key = b64encode(source.key.encode()).decode()
    noted = {_IMPORT: import_id, _KEY: key, _VERSION: source.version_id, _ENCODING: imported.encoding}
    return noted | ({_BEGAN: began.isoformat()} if began else {})


def import_noted(metadata: Mapping[str, str]) -> str | None:
    """The import that wrote a result file; None if a person did."""
    return metadata.get(_IMPORT)


def began(metadata: Mapping[str, str]) -> str:
    """Return the start of a result's import in ISO 8601; "" if a person or an earlier release wrote the result."""
    return metadata.get(_BEGAN, "")


def noted(metadata: Mapping[str, str]) -> Imported | None:
    """The file that a result belongs to; None if a person or an earlier release wrote it."""
    try:
        key = b64decode(metadata[_KEY], validate=True).decode()
        return Imported(Source(key, metadata[_VERSION]), CP932 if metadata[_ENCODING] == CP932 else UTF_8)
    except (KeyError, ValueError):
        return None


def content(row: Mapping[str, str]) -> bytes:
    """A hash that identifies a row regardless of its number. Never stored, because it covers the password."""
    cells = {name: cell for name, cell in row.items() if cell and name != "No."}
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).digest()


def kept(
    rows: Sequence[tuple[RowPointer, bytes]],
    earlier: Sequence[Result],
    contents: Mapping[int, bytes],
    instance_id: str | None,
) -> list[Kept]:
    """The rows that do not need to run.

    rows: each with its content, b"" for one that cannot be read. contents: of the rows that `earlier` belongs to, by
    number; empty if unknown. instance_id: where to create users; None to create none.
    Raises InvalidResultFile if rows were added or removed.
    """
    # An earlier release wrote results of rows of empty cells, too.
    results = [result for result in earlier if not contents or result.csv_row in contents]
    if len(rows) != len(results):
        raise InvalidResultFile(
            f"retry_of: has {len(results)} rows, the file has {len(rows)}; correct rows, but do not add or remove any"
        )
    if len(contents) != len(results):
        return []
    known = [(contents[result.csv_row], result) for result in results]
    standing = {of: result.csv_row for of, result in known if of and _stands(result, instance_id)}
    return [Kept(row.number, standing[of]) for row, of in rows if of in standing and not row.repeats]


def _stands(result: Result, instance_id: str | None) -> bool:
    return result.succeeded and (instance_id is None or f":instance/{instance_id}/" in result.user_arn)
