"""The output of `stepwise commands`."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from operations.commands import KeyView, Listed, error_of, name_of

from .views import table

_COLORS = {"done": "green", "runs": "yellow"}


def key(view: KeyView) -> Group:
    """Everything about one key."""
    parts = [_versions(view), _targets(view)]
    decisions = _decisions(view)
    return (
        Group(*parts, table("Decisions", ["at", "version", "what", "by", "reason"], decisions))
        if decisions
        else Group(*parts)
    )


def blocked(keys: Sequence[Listed]) -> Table:
    """Blocked keys, and what to do."""
    rows: list[list[RenderableType]] = [
        [
            name_of(one.gate.key),
            str(one.gate.turn),
            str(one.gate.published - one.gate.turn),
            one.since,
            Text(one.error, style="red"),
            f"./stepwise commands retry '{name_of(one.gate.key)}' --reason WHY",
        ]
        for one in keys
    ]
    return table("Blocked keys", ["key", "dead version", "waiting", "pending since", "error", "action"], rows)


def lagging(keys: Sequence[Listed]) -> Table:
    """Keys with targets that lag behind, and what to do."""
    rows = [
        [name_of(one.gate.key), name, one.since, f"./stepwise commands rebuild {name} --key '{name_of(one.gate.key)}'"]
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
            row.item["mode"]["S"],
            row.item["updated_at"]["S"],
            Text(error_of(row), style="red"),
        ]
        for version, row in sorted(view.commands.items())
    ]
    gate = view.gate
    title = f"{name_of(gate.key)}: {gate.finished} of {gate.published} versions done"
    return table(title, ["version", "status", "what it does", "attempt", "mode", "written at", "error"], rows)


def standing(words: str) -> Text:
    """What a version does, in its color."""
    return Text(words, style="red" if words.startswith("dead") else _COLORS.get(words, ""))


def _targets(view: KeyView) -> Table:
    gate = view.gate
    rows = [["data", str(gate.data_version), ""]]
    rows += [[name, str(shown), _behind(view, name, shown)] for name, shown in view.shown.items()]
    return table("Targets", ["target", "version", ""], rows)


def _behind(view: KeyView, name: str, shown: int) -> str:
    if name in view.gate.lagging:
        return "lags behind"
    if shown > view.gate.finished:
        return "shows the version that runs or is blocked"
    if shown > view.gate.data_version:
        return "shows a version that was skipped"
    return "" if shown == view.gate.data_version else "behind"


def _decisions(view: KeyView) -> list[list[str]]:
    entries = [
        (version, entry["M"])
        for version, row in view.commands.items()
        for entry in row.item.get("decisions", {}).get("L", [])
    ]
    decided = [[version, *(entry[name]["S"] for name in ("at", "move", "by", "reason"))] for version, entry in entries]
    return [
        [at, str(version), move, by, reason]
        for version, at, move, by, reason in sorted(decided, key=lambda one: one[1])
    ]
