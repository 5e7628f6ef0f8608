"""Constraints of the service model that botocore does not check: upper limits, patterns, enumerations."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import regex
from botocore.model import ListShape, MapShape, Shape, StructureShape


def violations(value: Any, shape: Shape, path: str) -> Iterator[str]:
    """The violations by a value of the right type, one sentence each, without the value."""
    yield from _own(value, shape, path)
    match shape:
        case StructureShape():
            for name, member in value.items():
                yield from violations(member, shape.members[name], f"{path}.{name}")
        case ListShape():
            for index, item in enumerate(value):
                yield from violations(item, shape.member, f"{path}[{index}]")
        case MapShape():
            for key, item in value.items():
                yield from violations(key, shape.key, f"{path} (a key)")
                yield from violations(item, shape.value, f"{path}[{key!r}]")


def _own(value: Any, shape: Shape, path: str) -> Iterator[str]:
    limits = shape.metadata
    size = value if shape.type_name in {"integer", "long", "float", "double"} else len(value) if _sized(value) else 0
    if "max" in limits and size > limits["max"]:
        yield f"{path} is over its maximum of {limits['max']}"
    if "enum" in limits and value not in limits["enum"]:
        yield f"{path} is not one of {', '.join(limits['enum'])}"
    if "pattern" in limits and not _pattern(limits["pattern"]).fullmatch(value):
        yield f"{path} does not match {limits['pattern']}"


def _sized(value: Any) -> bool:
    return isinstance(value, str | list | dict)


@cache
def _pattern(text: str) -> regex.Pattern[str]:
    """A pattern of the model; some are escaped twice or enclosed in slashes."""
    bare = text[1:-1] if text.startswith("/") and text.endswith("/") else text
    return regex.compile(bare.replace("\\\\", "\\"))
