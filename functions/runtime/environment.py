"""A function's environment variables as a frozen dataclass: each field is the variable of its name in upper case."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any


class InvalidEnvironment(Exception):
    """A variable that the function needs is missing or malformed; the template sets it."""


def read_environment[E](environment: type[E], variables: Mapping[str, str] = os.environ) -> E:
    """Build `environment`, a dataclass of `str` and `int` fields. A field with a default may be missing or empty.

    Raises InvalidEnvironment, naming the variable.
    """
    return environment(**{field.name: _value(field, variables) for field in dataclasses.fields(environment)})  # type: ignore[arg-type]


def _value(field: dataclasses.Field[Any], variables: Mapping[str, str]) -> str | int:
    name = field.name.upper()
    text = variables.get(name, "")
    if not text and isinstance(field.default, str | int):
        return field.default
    if not text:
        raise InvalidEnvironment(f"{name} is not set; it belongs to the function's Environment in its stack")
    if field.type is not int:
        return text
    if not text.isdecimal():
        raise InvalidEnvironment(f"{name} is not a whole number")
    return int(text)
