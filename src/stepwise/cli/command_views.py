"""The output of `stepwise commands`."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from stepwise.local.drawing import Text
from stepwise.operations.commands import KeyView, Listed, error_of, name_of

from . import hints
from .views import table

_COLORS = {"done": "green", "runs": "yellow"}


def key(view: KeyView) -> Group:
    """Show everything about one key."""
    parts = [_versions(view), _targets(view)]
    decisions = _decisions(view)
    return (
        Group(*parts, table("Decisions", ["at", "version", "what", "by", "reason"], decisions))
        if decisions
        else Group(*parts)
    )


def blocked(keys: Sequence[Listed]) -> Table:
    """Show blocked keys, and what to do."""
    rows: list[list[RenderableType]] = [
        [
            name_of(one.gate.key),
            str(one.gate.turn),
            str(one.gate.published - one.gate.turn),
            one.since,
            Text(one.error, style="red"),
            hints.command("commands", "retry", name_of(one.gate.key), ("--reason", "WHY")),
        ]
        for one in keys
    ]
    return table("Blocked keys", ["key", "dead version", "waiting", "pending since", "error", "action"], rows)


def lagging(keys: Sequence[Listed]) -> Table:
    """Show keys with lagging targets, and what to do."""
    rows: list[list[RenderableType]] = [
        [
            name_of(one.gate.key),
            name,
            one.since,
            hints.command("commands", "rebuild", name, ("--key", name_of(one.gate.key))),
        ]
        for one in keys
        for name in sorted(one.gate.lagging)
    ]
    return table("Targets that lag behind", ["key", "target", "since", "action"], rows)


def _versions(view: KeyView) -> Table:
    rows: list[list[RenderableType]] = [
        [
            str(version),
            row.status,
            standing(view.standing(version)),
            str(row.attempt),
            row.mode,
            row.updated_at,
            Text(error_of(row), style="red"),
        ]
        for version, row in sorted(view.commands.items())
    ]
    gate = view.gate
    title = f"{name_of(gate.key)}: {gate.finished} of {gate.published} versions done"
    return table(title, ["version", "status", "what it does", "attempt", "mode", "written at", "error"], rows)


def standing(words: str) -> Text:
    """Color the state of a version."""
    return Text(words, style="red" if words.startswith("dead") else _COLORS.get(words, ""))


def _targets(view: KeyView) -> Table:
    gate = view.gate
    rows = [["data", str(gate.data_version), ""]]
    rows += [[name, str(shown), view.remark(name)] for name, shown in view.shown.items()]
    return table("Targets", ["target", "version", ""], rows)


def _decisions(view: KeyView) -> list[list[str]]:
    return [[one.at, str(version), one.move, one.by, one.reason] for version, one in view.decisions]
