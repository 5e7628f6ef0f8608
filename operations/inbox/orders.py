"""Orders of which something still stands after a compensation gave up."""

from collections.abc import Iterator

from operations import recovery
from operations.errors import Word
from operations.stack import Stack

from .concern import Concern


def concerns(stack: Stack, _name: str) -> Iterator[Concern]:
    for one in recovery.needing_attention(stack):
        problem = f"{', '.join(one.standing)} not undone; saga {one.problem}"
        document: list[Word] = [("--file", "ORDER.json")] if one.document_lost else []
        see = ("show", one.saga_id) if one.row_edited else ("recover", one.saga_id, *document)
        yield Concern("orders", one.saga_id, problem, str(one.cause or ""), see)
