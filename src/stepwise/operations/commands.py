"""Commands for operators: publish, look up, retry and skip. The same for the local stack and for AWS."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from entities import errors, reading
from entities.command import Decision, Key, Pk, Sk
from entities.lagging import LAGGING_SINCE
from entities.reading import Moment, entity_of
from entities.registered import TYPES
from entities.state import PENDING_SINCE, CommandRow, Gate
from entities.tables import States, Tables
from idempotency import StateConflict
from idempotency.dynamodb import read_rows
from runtime.validation import parser

from .caller import caller
from .errors import CommandError, StillRunning
from .functions import call
from .orders import patiently
from .stack import Stack
from .targets import targets_of
from .values import utc_time

# Pattern of a version that a person names.
_MAX_DIGITS = 10
MAX_SHOWN = 100
"""Maximum versions of one key: as many as one call reads."""
_ERRORS = {
    one.__name__: one
    for one in (
        errors.AttributesTooLarge,
        errors.InvalidCommand,
        errors.NotBlocked,
        errors.PendingCommand,
        errors.VersionConflict,
        errors.VersionGap,
        StateConflict,
    )
}


class KeyNotFound(CommandError):
    """Nothing was ever published for the key."""


class _Named(Struct, frozen=True):
    pk: Pk
    sk: Sk


_parse_named = parser(_Named, errors.InvalidCommand, "the key")


@dataclass(frozen=True, slots=True)
class KeyView:
    """Everything about one key. commands: by version; expired ones are missing.

    shown: the version that each target shows, by its name; 0 for none.
    """

    gate: Gate
    commands: Mapping[int, CommandRow]
    shown: Mapping[str, int]

    def standing(self, version: int) -> str:
        """Describe the state of the version, or what it waits for."""
        gate = self.gate
        if version <= gate.finished:
            return "done"
        if version == gate.turn:
            return "dead: blocks the key" if gate.blocked else "runs"
        dead = "dead: blocks the key at its turn, " if version in gate.dead else ""
        return f"{dead}waits for {version - 1}"

    def remark(self, target: str) -> str:
        """Explain why a target shows another version than the data; empty if it shows the same."""
        gate, shown = self.gate, self.shown[target]
        if target in gate.lagging:
            return "lags behind"
        if shown > gate.finished:
            return "shows the version that runs or is blocked"
        if shown > gate.data_version:
            return "shows a version that was skipped"
        return "" if shown == gate.data_version else "behind"

    @property
    def decisions(self) -> list[tuple[int, Decision]]:
        """The decisions of operators, each with its version, oldest first."""
        entries = [
            (version, Decision(**{name: entry["M"][name]["S"] for name in ("move", "by", "reason", "at")}))
            for version, row in self.commands.items()
            for entry in row.item.get("decisions", {}).get("L", [])
        ]
        return sorted(entries, key=lambda one: one[1].at)


@dataclass(frozen=True, slots=True)
class Listed:
    """A key that needs attention. since: ISO 8601. error: the dead version's error, if it blocks the key."""

    gate: Gate
    since: str
    error: str = ""


def parse_key(text: str) -> Key:
    """Read `TENANT_CODE/SK`, such as `tenant1/PRODUCT#tea-01`. Raises InvalidCommand, naming the field."""
    tenant, _, sk = text.removeprefix("TENANT#").partition("/")
    named = _parse_named({"pk": f"TENANT#{tenant}", "sk": sk})
    return Key(named.pk, named.sk)


def name_of(key: Key) -> str:
    """Format the key as `parse_key` reads it."""
    return f"{key.pk.removeprefix('TENANT#')}/{key.sk}"


def tables(stack: Stack) -> Tables:
    """Return the physical names of the tables of commands."""
    return Tables(*(stack.outputs[f"{name}Table"] for name in ("Commands", "Gates", "Data", "History")))


def publish(stack: Stack, document: Any) -> dict[str, Any]:
    """Call PublishCommand and return its result.

    Raises InvalidCommand, VersionConflict, VersionGap, PendingCommand, AttributesTooLarge: nothing is written.
    Raises FunctionFailed.
    """
    answer: dict[str, Any] = call(stack, "PublishCommand", document, _ERRORS)
    return answer


def follow(stack: Stack, key: Key, version: int, *, seconds: float = 3600) -> Iterator[KeyView]:
    """Yield the state of a key until the version has ended, or a dead one is in its way.

    Raises StillRunning; the command continues.
    """
    for _ in patiently(seconds):
        seen = view(stack, key, last=1)
        yield seen
        if seen.gate.finished >= version or seen.gate.blocked:
            return
    raise StillRunning(f"version {version} is not done yet", see=("commands", "show", name_of(key)))


def view(stack: Stack, key: Key, *, last: int = 20) -> KeyView:
    """Read everything about a key. last: how many of its versions; unfinished ones count extra, up to 100.

    Raises KeyNotFound.
    """
    gate = States(stack.dynamodb, tables(stack)).gate(key)
    if gate is None:
        raise KeyNotFound(f"nothing was published for {name_of(key)}")
    first = max(1, min(gate.turn, gate.published - last + 1))
    shown = {name: target.version(key.pk, key.sk) for name, target in targets_of(stack, TYPES.of(gate.type)).items()}
    versions = range(first, min(gate.published, first + MAX_SHOWN - 1) + 1)
    return KeyView(gate, _commands(stack, key, versions), shown)


def blocked(stack: Stack) -> list[Listed]:
    """Return keys whose next version is dead, oldest first."""
    return [Listed(gate, since, _error(stack, gate)) for gate, since in _index(stack, PENDING_SINCE) if gate.blocked]


def pending(stack: Stack) -> list[Listed]:
    """Return keys with an unfinished version, oldest first, including keys blocked by a dead version."""
    return [Listed(gate, since) for gate, since in _index(stack, PENDING_SINCE)]


def lagging(stack: Stack) -> list[Listed]:
    """Return keys with a lagging target, oldest first."""
    return [Listed(gate, since) for gate, since in _index(stack, LAGGING_SINCE)]


def retry(stack: Stack, key: Key, reason: str, by: str = "") -> list[int]:
    """Run all dead versions of a key again. Returns them. by: who decides; the caller by default.

    Raises NotBlocked, InvalidCommand, FunctionFailed.
    """
    versions: list[int] = call(stack, "RetryCommand", _decision(stack, key, reason, by), _ERRORS)["versions"]
    return versions


def skip(stack: Stack, key: Key, version: int, reason: str, by: str = "") -> int:
    """Skip the dead version that blocks a key. Returns it. by: as for `retry`. Raises as `retry`."""
    decision = {**_decision(stack, key, reason, by), "version": version}
    skipped: int = call(stack, "SkipCommand", decision, _ERRORS)["version"]
    return skipped


def _decision(stack: Stack, key: Key, reason: str, by: str) -> dict[str, str]:
    return {**key.row, "reason": reason, "by": by or caller(stack)}


def _index(stack: Stack, index: str) -> list[tuple[Gate, str]]:
    pages = stack.dynamodb.get_paginator("scan").paginate(TableName=tables(stack).gates, IndexName=index)
    found = [(Gate.of(item), item[index]["S"]) for page in pages for item in page["Items"]]
    return sorted(found, key=lambda one: (one[1], one[0].key.sk))


def _commands(stack: Stack, key: Key, versions: Sequence[int]) -> dict[int, CommandRow]:
    """Return the rows of these versions that have not expired, up to 100."""
    commands = tables(stack).commands
    rows = read_rows(stack.dynamodb, [(commands, key.at(version)) for version in versions])
    return {version: CommandRow(row) for version, row in zip(versions, rows, strict=True) if row}


def _error(stack: Stack, gate: Gate) -> str:
    return "".join(map(error_of, _commands(stack, gate.key, [gate.turn]).values()))


def error_of(row: CommandRow) -> str:
    """Return the error of a failed command as text; empty without one."""
    return ": ".join(row.error[name] for name in ("type", "message") if row.error.get(name))


class NoSuchVersion(CommandError):
    """The entity did not exist then, or the version has not finished."""


def parse_moment(text: str) -> Moment:
    """Read a version, or a time in ISO 8601, which is UTC unless it says otherwise. Raises ValueError."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS else utc_time(text)


def as_of(stack: Stack, tables: Tables, key: Key, moment: Moment) -> dict[str, Any]:
    """Return the entity when this version had finished or was skipped, or at this time. Raises NoSuchVersion."""
    try:
        return reading.as_of(stack.dynamodb, tables, key, moment)
    except reading.NoSuchVersion as error:
        raise NoSuchVersion(str(error)) from None


def export(stack: Stack, tables: Tables, kind: str) -> Iterator[dict[str, Any]]:
    """Yield every entity of a type, including deleted ones, each as it was when it was read."""
    pages = stack.dynamodb.get_paginator("scan").paginate(
        TableName=tables.data,
        FilterExpression="#type = :type",
        ExpressionAttributeNames={"#type": "type"},
        ExpressionAttributeValues={":type": {"S": kind}},
        ConsistentRead=True,
    )
    for page in pages:
        yield from map(entity_of, page["Items"])
