"""Validates JSON values against the schemas of the document, with all errors at once.

It knows the keywords that the document uses for requests; a test refuses others, and compares it with a library.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

type Schema = Mapping[str, Any]
type Json = Any

KEYWORDS = frozenset(
    {"additionalProperties", "description", "enum", "format", "items", "maxItems", "maxLength", "maximum"}
    | {"minItems", "minLength", "minimum", "pattern", "properties", "required", "type"}
)
_TYPES: Mapping[str, type] = {"array": list, "boolean": bool, "integer": int, "object": dict, "string": str}


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of the schema.

    pointer: JSON pointer to the value; empty for the whole. detail: what it must be; never a value.
    """

    pointer: str
    detail: str


@dataclass(frozen=True, slots=True)
class Schemas:
    """Schemas of the document. find: returns the schema of a reference."""

    find: Callable[[str], Schema]

    def violations(self, schema: Schema, value: Json, at: str = "") -> Iterator[Violation]:
        """Yield all violations in a value. at: its JSON pointer."""
        if "$ref" in schema:
            schema = self.find(schema["$ref"])
        kind = schema.get("type")
        if kind and not _has_type(kind, value):
            yield Violation(at, f"must be of type {kind}")
            return
        yield from (Violation(at, detail) for detail in _own(schema, value))
        if isinstance(value, dict):
            yield from self._members(schema, value, at)
        elif isinstance(value, list):
            for index, item in enumerate(value[: schema.get("maxItems")]):
                yield from self.violations(schema["items"], item, f"{at}/{index}")

    def _members(self, schema: Schema, value: Mapping[str, Json], at: str) -> Iterator[Violation]:
        properties = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                yield Violation(f"{at}/{name}", "required")
        for name, member in value.items():
            if name in properties:
                yield from self.violations(properties[name], member, f"{at}/{name}")
            elif schema.get("additionalProperties") is False:
                yield Violation(f"{at}/{_escaped(name)}", "unknown field")


def _has_type(kind: str, value: Json) -> bool:
    # In Python, True is an int.
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _own(schema: Schema, value: Json) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield f"must be one of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, str):
        yield from _of_text(schema, value)
    elif isinstance(value, list):
        yield from _size(schema, len(value), "Items", "items")
    elif isinstance(value, int):
        yield from _size(schema, value, "imum", "")


def _of_text(schema: Schema, value: str) -> Iterator[str]:
    length = list(_size(schema, len(value), "Length", "characters"))
    yield from length
    # A pattern may take time quadratic in the length.
    if not length and "pattern" in schema and not _compiled(schema["pattern"]).search(value):
        yield f"must match {schema['pattern']}"
    if schema.get("format") == "date-time" and not _is_time(value):
        yield "must be a time with its offset, such as 2026-11-22T09:00:00Z"


def _size(schema: Schema, size: int, suffix: str, unit: str) -> Iterator[str]:
    if size < schema.get(f"min{suffix}", size):
        yield f"must be at least {schema[f'min{suffix}']} {unit}".rstrip()
    if size > schema.get(f"max{suffix}", size):
        yield f"must be at most {schema[f'max{suffix}']} {unit}".rstrip()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # In Python, $ also matches before a trailing newline.
    return re.compile(re.sub(r"\$$", r"\\Z", pattern))


def _is_time(value: str) -> bool:
    try:
        return "T" in value and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
