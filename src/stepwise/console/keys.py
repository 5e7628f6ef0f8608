"""Keys and their versions: keys that need an operator, pending keys, and one key as the chain of its versions."""

from collections.abc import Mapping
from typing import Any

from entities.command import Attempt, Key
from entities.state import CommandRow
from stepwise.operations import commands, targets
from stepwise.operations.commands import KeyView, Listed, error_of, name_of
from stepwise.operations.values import whole_number

from .changes import Change, Field, Form, InvalidForm
from .filters import one_of
from .pages import Page, Visit
from .rendering import quote_path

_LAST = 20
_MAX_LISTED = 200
_SHOWS = ("blocked", "lagging", "pending")
_REASON = Field("reason", "Why", "area", help="Kept on the command's row, with who decided and when.")


def view(visit: Visit) -> Mapping[str, Any]:
    """Return keys that are blocked, that have a lagging target, or that have an unfinished version."""
    stack, shows = visit.stack, one_of(visit, "show", _SHOWS)
    blocked = commands.blocked(stack) if shows in ("", "blocked") else []
    lagging = commands.lagging(stack) if shows in ("", "lagging") else []
    pending = commands.pending(stack) if shows in ("", "pending") else []
    return {
        "shows": _SHOWS,
        "blocked": [_listed(one) for one in blocked[:_MAX_LISTED]],
        "lagging": [_listed(one) for one in lagging[:_MAX_LISTED]],
        "pending": [_listed(one) for one in pending if not one.gate.blocked][:_MAX_LISTED],
        "more": max(0, max(map(len, (blocked, lagging, pending))) - _MAX_LISTED),
        "found": _named(visit),
    }


def _named(visit: Visit) -> dict[str, str] | None:
    """Return the key in the address. Raises InvalidCommand."""
    asked = visit.asked("key")
    key = commands.parse_key(asked) if asked else None
    return {"name": name_of(key), "page": page_of(key)} if key else None


def _listed(one: Listed) -> dict[str, Any]:
    gate = one.gate
    waiting = gate.published - gate.turn
    own = {"name": name_of(gate.key), "page": page_of(gate.key), "type": gate.type, "since": one.since}
    return {**own, "turn": gate.turn, "waiting": waiting, "error": one.error, "lagging": sorted(gate.lagging)}


def page_of(key: Key) -> str:
    """Return the address of a key's page."""
    return f"/commands/{quote_path(key.pk.removeprefix('TENANT#'))}/{quote_path(key.sk)}"


def one(visit: Visit) -> Mapping[str, Any]:
    """Return everything about a key."""
    key = commands.parse_key(f"{visit.path['tenant']}/{visit.path['sk']}")
    seen = commands.view(visit.stack, key, last=_LAST)
    return {
        "name": name_of(key),
        "page": page_of(key),
        "gate": seen.gate,
        "chain": [_version(seen, version, row) for version, row in sorted(seen.commands.items())],
        "targets": [(name, shown, seen.remark(name)) for name, shown in seen.shown.items()],
        "decisions": seen.decisions,
    }


def _version(seen: KeyView, version: int, row: CommandRow) -> dict[str, Any]:
    """Return one version as a link of the chain. run: the name of its execution; empty if it had none."""
    mode = row.mode
    standing = seen.standing(version)
    return {
        "version": version,
        "status": row.status,
        "standing": standing,
        "kind": kind_of(standing),
        "attempt": row.attempt,
        "mode": mode,
        "updated_at": row.updated_at,
        "error": error_of(row),
        "run": Attempt(seen.gate.key, version, row.attempt).name if mode == "async" else "",
    }


def kind_of(standing: str) -> str:
    """Return the color of a version's state."""
    if standing.startswith("dead"):
        return "bad"
    return {"done": "good", "runs": "busy"}.get(standing, "none")


def _key(visit: Visit) -> Key:
    return commands.parse_key(visit.asked("key"))


def _retry(visit: Visit, values: Form, who: str) -> str:
    versions = commands.retry(visit.stack, _key(visit), values["reason"], who)
    return f"Retried version{'s' if len(versions) > 1 else ''} {', '.join(map(str, versions))} of {visit.asked('key')}."


def _turn(visit: Visit) -> int:
    return commands.view(visit.stack, _key(visit), last=1).gate.turn


def _to_skip(visit: Visit) -> int:
    """Return the version that the dialog names. Raises InvalidForm."""
    try:
        return whole_number(visit.asked("version"))
    except ValueError:
        raise InvalidForm("version: the form does not name the version to skip; open it again") from None


def _skip(visit: Visit, values: Form, who: str) -> str:
    skipped = commands.skip(visit.stack, _key(visit), _to_skip(visit), values["reason"], who)
    return f"Skipped version {skipped} of {visit.asked('key')}."


def _rebuild(visit: Visit, _values: Form, _who: str) -> str:
    target = visit.asked("target")
    version = targets.rebuild(visit.stack, commands.tables(visit.stack), _key(visit), target)
    return f"{target} shows version {version} of {visit.asked('key')}."


RETRY = Change(
    "retry-command",
    "Retry dead versions",
    effect=lambda visit: f"Runs all dead versions of {visit.asked('key')} again, in order.",
    command=lambda visit: ("commands", "retry", visit.asked("key"), ("--reason", "WHY")),
    run=_retry,
    parameters=("key",),
    fields=(_REASON,),
    needs=("GatesTable",),
)
SKIP = Change(
    "skip-command",
    "Skip the dead version",
    effect=lambda visit: (
        f"Skips version {_to_skip(visit)} of {visit.asked('key')} for good: it never runs, and the next one does."
    ),
    command=lambda visit: ("commands", "skip", visit.asked("key"), ("--reason", "WHY")),
    run=_skip,
    parameters=("key", "version"),
    seen=lambda visit: {"version": str(_turn(visit))},
    fields=(_REASON,),
    needs=("GatesTable",),
    dangerous=True,
)
REBUILD = Change(
    "rebuild-target",
    "Rebuild the target",
    effect=lambda visit: (
        f"Brings {visit.asked('target')} to the data of {visit.asked('key')}, while commands continue."
    ),
    command=lambda visit: ("commands", "rebuild", visit.asked("target"), ("--key", visit.asked("key"))),
    run=_rebuild,
    parameters=("target", "key"),
    needs=("GatesTable",),
)

_NEEDS = ("GatesTable", "CommandArn")
PAGES = (
    Page("/commands", "keys.html", view, title="Commands", needs=_NEEDS, live=True),
    Page("/commands/{tenant}/{sk}", "key.html", one, needs=_NEEDS, live=True),
)
CHANGES = (RETRY, SKIP, REBUILD)
