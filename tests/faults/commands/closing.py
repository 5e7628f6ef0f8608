"""Judges a key at which nothing happens any more."""

from tests.faults.commands.invariants import ANSWERS, CURRENT, ENDS, SHOWN
from tests.faults.commands.judge import Judge
from tests.faults.commands.ledger import plain
from tests.faults.commands.schedule import PK, SK


def at_rest(judge: Judge) -> None:
    """Only sweeps still run, and no operator has acted yet."""
    if judge.finished == judge.newest:
        return
    if not judge.blocked:
        judge.broken(ENDS, f"version {judge.finished + 1} is {judge.status(judge.finished + 1)}, and nothing happens")
    elif judge.run.swept is not None and not judge.run.swept["blocked"]:
        judge.broken(ENDS, "the sweep counts no blocked key")


def at_last(judge: Judge) -> None:
    """Everything has been delivered, and an operator has retried or skipped what was listed."""
    for execution in judge.run.engine.executions():
        if execution["status"] == "RUNNING":
            judge.broken(ENDS, f"an execution waits forever: {execution['input']}")
    if judge.finished < judge.newest or judge.dead or "pending_since" in (judge.gate or {}):
        judge.broken(ENDS, f"the gate has {judge.finished} of {judge.newest}, dead {sorted(judge.dead)}")
    if sorted(judge.run.published) != list(range(1, judge.newest + 1)) or max(judge.run.published.values()) > 1:
        judge.broken(ANSWERS, f"{dict(judge.run.published)} of {judge.newest} versions")


def rebuilt(judge: Judge) -> None:
    """An operator has rebuilt every target."""
    data = judge.data
    if data is None:
        return
    version, attributes = int(data["version"]["N"]), plain(data["attributes"])
    pointer = judge.rows["ProductsTable"].get((PK, SK), {"version": {"N": "0"}})
    for name, shown in (("products", int(pointer["version"]["N"])), ("catalog", judge.catalog)):
        if shown != version:
            judge.broken(CURRENT, f"{name} shows version {shown}, the data {version}")
            return
    deleted = data["deleted"]["BOOL"]
    wanted = None if deleted else (data["name"]["S"], attributes["price"], attributes.get("available", True))
    rows = [plain({"M": row}) for key, row in judge.rows["ProductsTable"].items() if key[0] != PK]
    for name, found in (("products", rows[0] if rows else {}), ("catalog", judge.shown)):
        facts = (found["name"], found["price"], found["available"]) if "name" in found else None
        if facts != wanted:
            judge.broken(SHOWN, f"{name}: {facts}, not {wanted}")


def stale_targets(judge: Judge) -> None:
    """Before a rebuild: a target shows the data, or a newer version that was skipped."""
    data = int(judge.data["version"]["N"]) if judge.data else 0
    pointer = judge.rows["ProductsTable"].get((PK, SK), {"version": {"N": "0"}})
    for name, shown in (("products", int(pointer["version"]["N"])), ("catalog", judge.catalog)):
        lagging = name in (judge.gate or {}).get("lagging", {}).get("SS", ())
        if shown < data and not lagging:
            judge.broken(CURRENT, f"{name} shows version {shown}, the data {data}, and it is not listed")
        if shown > data and judge.status(shown) != "finish:SKIPPED":
            judge.broken(CURRENT, f"{name} shows version {shown}, which is {judge.status(shown)}")
