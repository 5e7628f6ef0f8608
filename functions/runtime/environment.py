"""A function's environment variables as fields of a class, each read at its use.

    class Environment(Variables):
        orders_table: str
        order_lifetime_days: int

    environment = Environment()

A field is the variable of its name in upper case. So the handlers of a context share one class, and each function still
gets only the variables that its calls read; a contract test compares the two.
"""

import os
from typing import Any


class InvalidEnvironment(Exception):
    """A variable that the function needs is missing or malformed; the template sets it."""


class Variables:
    """Base of such classes. Its fields are `str` or `int`.

    A variable whose field has a default may be missing or empty.
    """

    def __init__(self, **values: Any) -> None:
        """Accept values for fields that are then not read."""
        vars(self).update(values)

    def __init_subclass__(cls) -> None:
        for name, kind in vars(cls).get("__annotations__", {}).items():
            setattr(cls, name, _Variable(name.upper(), kind is int, vars(cls).get(name)))

    @classmethod
    def fields(cls) -> list[str]:
        """Return the names of all fields."""
        return [name for base in reversed(cls.__mro__) for name in vars(base).get("__annotations__", {})]


class _Variable:
    """One field. Values given to the instance win, because this is not a data descriptor."""

    __slots__ = ("default", "is_number", "name")

    def __init__(self, name: str, is_number: bool, default: str | int | None) -> None:
        self.name, self.is_number, self.default = name, is_number, default

    def __get__(self, owner: Variables | None, _: type[Variables]) -> Any:
        if owner is None:
            return self
        text = read_variable(self.name)
        if not text and self.default is not None:
            return self.default
        if not text:
            raise InvalidEnvironment(f"{self.name} is not set; it belongs to the function's Environment in its stack")
        if not self.is_number:
            return text
        if not text.isdecimal():
            raise InvalidEnvironment(f"{self.name} is not a whole number")
        return int(text)


def read_variable(name: str) -> str:
    """Return the text of a variable, empty if it is missing. All fields are read here."""
    return os.environ.get(name, "")
