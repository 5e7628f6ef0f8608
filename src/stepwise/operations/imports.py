"""Imports of rows for operators: create, look up, follow, stop. The same for the local stack and for AWS.

Imports of Amazon Connect users are in user_imports.py.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.config import Config
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from idempotency.codec import to_value
from idempotency.dynamodb import read_rows
from imports.errors import InvalidImport, TooManyRows
from imports.requests import ENDINGS, Job
from imports.state import Import, ImportKey
from imports.table import ImportsTable
from runtime.validation import parser

from .caller import caller
from .errors import CommandError, StillRunning
from .functions import call
from .orders import patiently
from .stack import Stack
from .values import in_key

_ERRORS = {one.__name__: one for one in (InvalidImport, TooManyRows)}
# The function's timeout and a bit: a DIRECT import responds when it is done.
_SECONDS_TO_CREATE = 130
# A ZIP waits up to a day for each of its files.
_MAX_SECONDS = 172_800
_PAGE, _MAX_READ = 25, 100

_parse_job = parser(Job, InvalidImport, "the import")


class ImportNotFound(CommandError):
    """The tenant has no such import."""


class ImportEnded(CommandError):
    """The import has ended, so there is nothing to stop."""


class AnswerLost(CommandError):
    """It is unknown whether the import was created."""


def file_of(made: Import) -> str:
    """Return the name of its file."""
    return str(made.values["key"]).rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class ImportView:
    """An import. children: a ZIP's children, by name."""

    made: Import
    children: Sequence[Import] = ()

    @property
    def name(self) -> str:
        return name_of(self.made.key)

    def count(self, counter: str) -> int:
        """Return a counter of the import; while a ZIP runs, the sum over its children."""
        parts = self.children if self.children and not self.made.status.final else [self.made]
        return sum(int(one.values.get(counter, 0)) for one in parts)


def parse_key(text: str) -> ImportKey:
    """Read `TENANT_CODE/IMPORT_ID`. Raises InvalidImport, naming the field."""
    tenant_code, separator, import_id = text.partition("/")
    if not separator:
        raise InvalidImport("import: must be TENANT_CODE/IMPORT_ID, as 'imports list' shows it")
    return _parse_job({"tenant_code": tenant_code, "import_id": import_id}).key


def name_of(key: ImportKey) -> str:
    """Format the key as `parse_key` reads it."""
    return f"{key.tenant_code}/{key.import_id}"


def upload(stack: Stack, file: Path) -> str:
    """Upload a file to a place where uploads start nothing. Returns its key. Raises InvalidImport."""
    if not file.name.lower().endswith(ENDINGS):
        raise InvalidImport(f"file: the name must end in {' or '.join(ENDINGS)}")
    key = f"uploads/{uuid.uuid4().hex}/{in_key(file.name)}"
    with file.open("rb") as content:
        stack.client("s3").put_object(Bucket=stack.outputs["ImportsBucket"], Key=key, Body=content)
    return key


def create(stack: Stack, request: Mapping[str, Any]) -> ImportKey:
    """Create an import; a DIRECT one has ended then. Each call creates an import, so a lost response is not retried.

    Raises InvalidImport, TooManyRows: nothing is written. Raises AnswerLost, FunctionFailed.
    """
    once = Config(read_timeout=_SECONDS_TO_CREATE, retries={"total_max_attempts": 1})
    client = stack.session.client("lambda", endpoint_url=stack.endpoint, config=once)
    tenant_code = str(request["tenant_code"])
    try:
        answer = call(stack, "CreateImport", request, _ERRORS, client)
    except (ConnectionClosedError, ReadTimeoutError) as error:
        see = ("imports", "list", ("--tenant", tenant_code))
        raise AnswerLost(f"no answer ({type(error).__name__}); look at the list before you repeat it", see) from error
    return ImportKey(tenant_code, answer["import_id"])


def view(stack: Stack, key: ImportKey) -> ImportView:
    """Read an import consistently. Raises ImportNotFound."""
    table = _table(stack)
    made = table.find(key)
    if made is None:
        raise ImportNotFound(f"{name_of(key)}: no such import of this tenant")
    return ImportView(made, _children(stack, made))


def options_with(stack: Stack, key: ImportKey, changed: Mapping[str, Any]) -> dict[str, Any]:
    """Return an import's options, with changes: CreateImport replaces all of them. Raises ImportNotFound.

    encoding_confirmed is omitted: it was about one file in one encoding.
    """
    earlier = view(stack, key).made.values.get("options", {})
    kept = {name: value for name, value in earlier.items() if name != "encoding_confirmed"}
    return {**kept, **changed}


def follow(stack: Stack, key: ImportKey) -> Iterator[ImportView]:
    """Yield the import until it has ended. Raises ImportNotFound, StillRunning; the import continues."""
    for _ in patiently(_MAX_SECONDS):
        seen = view(stack, key)
        yield seen
        if seen.made.status.final:
            return
    raise StillRunning(f"{name_of(key)} is still running", see=("imports", "follow", name_of(key)))


def running(stack: Stack) -> list[Import]:
    """Return the imports of all tenants that have not ended, oldest first."""
    return sorted(_table(stack).open(), key=lambda made: made.created)


def of_tenant(stack: Stack, tenant_code: str, last: int) -> list[Import]:
    """Return the last imports of a tenant, newest first.

    The records of an import's batches lie between the imports; from the first one on, they are skipped.
    """
    found: list[Import] = []
    after: str | None = "IMPORT#"
    while after is not None:
        rows, after = _page(stack, ImportKey(tenant_code, "").pk, after)
        found.extend(rows)
    return sorted(found, key=lambda made: made.created, reverse=True)[:last]


def stop(stack: Stack, key: ImportKey, by: str = "") -> str:
    """Stop an import; rows that have not begun stay unprocessed. Returns who stopped it: the caller's ARN by default.

    Raises ImportEnded, FunctionFailed.
    """
    if view(stack, key).made.status.final:
        raise ImportEnded(f"{name_of(key)} has ended; there is nothing to stop")
    by = by or caller(stack)
    call(stack, "StopImport", {"tenant_code": key.tenant_code, "import_id": key.import_id, "by": by}, _ERRORS)
    return by


def _table(stack: Stack) -> ImportsTable:
    return ImportsTable(stack.dynamodb, stack.outputs["ImportsTable"])


def _children(stack: Stack, made: Import) -> list[Import]:
    keys = [
        ImportKey(made.key.tenant_code, f"{made.key.import_id}-{number:04}")
        for number in range(1, int(made.values.get("entries", 0)) + 1)
    ]
    name = stack.outputs["ImportsTable"]
    parts = [keys[start : start + _MAX_READ] for start in range(0, len(keys), _MAX_READ)]
    found = [item for part in parts for item in read_rows(stack.dynamodb, [(name, key.row) for key in part])]
    return [Import.of(item) for item in found if item]


def _page(stack: Stack, pk: str, after: str) -> tuple[list[Import], str | None]:
    """Return imports after this sort key, and where to continue."""
    answer = stack.dynamodb.query(
        TableName=stack.outputs["ImportsTable"],
        KeyConditionExpression="pk = :pk AND sk > :after",
        ExpressionAttributeValues={":pk": to_value(pk, fractions=True), ":after": to_value(after, fractions=True)},
        Limit=_PAGE,
    )
    imports = [Import.of(item) for item in answer["Items"] if item["kind"]["S"] == "import"]
    if "LastEvaluatedKey" not in answer:
        return imports, None
    last = answer["LastEvaluatedKey"]["sk"]["S"]
    before, batch, _ = last.partition("#BATCH#")
    # "$" sorts after "#" and before "-", which continues the ids of a ZIP's children.
    return imports, f"{before}$" if batch else last
