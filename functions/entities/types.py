"""The types of entities: what a command may hold, which targets follow it, how long its row outlives its end."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from msgspec import UNSET, Struct, UnsetType, defstruct
from msgspec.structs import FieldInfo, fields

from runtime.validation import parser

from .errors import InvalidCommand


class Policy(StrEnum):
    """The fate of a version whose execution ended without finishing."""

    BLOCK = "block"
    """It blocks its key until an operator retries or skips it."""
    SKIP = "skip"
    """It is skipped at its turn."""


class DuplicateRegistration(Exception):
    """Two types have one name, or a type names a target twice."""


class UnknownTarget(Exception):
    """A type names a target that is not registered."""


@dataclass(frozen=True, slots=True)
class EntityType:
    """A type of entity.

    schema: a frozen msgspec.Struct of the attributes; None for any. code_in_sk: whether `sk` is `<name>#<code>`.
    targets: by name. lifetime_days: how long a command's row outlives its end; None for the stack's parameter.
    secret: attributes that no file of results shows.
    """

    name: str
    schema: type[Struct] | None = None
    targets: tuple[str, ...] = ()
    lifetime_days: int | None = None
    policy: Policy = Policy.BLOCK
    code_in_sk: bool = False
    secret: tuple[str, ...] = ()

    def check(self, attributes: Mapping[str, Any], *, merge: bool = False) -> None:
        """Check a whole document; or, with merge, the attributes that a command adds.

        Raises InvalidCommand, with a line for each attribute that is wrong.
        """
        if self.schema is None:
            return
        try:
            _parser(self.schema, merge)({"attributes": attributes})
        except InvalidCommand as problem:
            # Each attribute may be valid, and their combination not.
            found = "\n".join(_problems(self.schema, attributes, merge=merge))
            raise InvalidCommand(found or str(problem)) from None


class Types:
    """The registry.

    targets: the names of the registered ones.
    Raises DuplicateRegistration or UnknownTarget.
    """

    def __init__(self, types: Iterable[EntityType], targets: Collection[str]) -> None:
        self._types: dict[str, EntityType] = {}
        for kind in types:
            if kind.name in self._types or len(set(kind.targets)) < len(kind.targets):
                raise DuplicateRegistration(f"the type {kind.name}, or a target of it, is registered twice")
            if unknown := set(kind.targets).difference(targets):
                raise UnknownTarget(f"{kind.name} has no such target: {', '.join(sorted(unknown))}")
            self._types[kind.name] = kind

    def has(self, name: str) -> bool:
        """True if a type of this name is registered."""
        return name in self._types

    def owner(self, sk: str) -> str:
        """Return the registered type that owns keys with this prefix; "" for none."""
        name = sk.partition("#")[0]
        return name if name in self._types and self._types[name].code_in_sk else ""

    def of(self, name: str) -> EntityType:
        """Return the type of this name. A document of an unregistered type is stored unchanged."""
        return self._types.get(name) or EntityType(name)


def _problems(schema: type[Struct], attributes: Mapping[str, Any], *, merge: bool) -> Iterator[str]:
    """Yield a line for each invalid attribute, by its path. msgspec stops at the first."""
    for name, value in attributes.items():
        try:
            _attribute_parser(schema, merge)({"attributes": {name: value}})
        except InvalidCommand as problem:
            yield str(problem).replace("\n", " ")
    if not merge:
        yield from (
            f"attributes.{field.encode_name}: required"
            for field in fields(schema)
            if field.required and field.encode_name not in attributes
        )


@cache
def _parser(schema: type[Struct], merge: bool) -> Callable[[Any], Any]:
    return _attribute_parser(schema, merge) if merge else _parser_of(schema)


@cache
def _attribute_parser(schema: type[Struct], merge: bool) -> Callable[[Any], Any]:
    """Build a parser in which every attribute is optional.

    merge: whether `null` removes a field that is not required.
    """
    changes = [(field.encode_name, _changed(field, merge), UNSET) for field in fields(schema)]
    return _parser_of(defstruct(f"{schema.__name__}Changes", changes, forbid_unknown_fields=True))


def _parser_of(attributes: Any) -> Callable[[Any], Any]:
    return parser(defstruct("Entity", [("attributes", attributes)]), InvalidCommand, "the entity")


def _changed(field: FieldInfo, merge: bool) -> Any:
    return field.type | UnsetType | None if merge and not field.required else field.type | UnsetType
