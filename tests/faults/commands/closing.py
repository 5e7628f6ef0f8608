"""Judges a key at rest."""

from tests.faults.commands.invariants import ANSWERS, CURRENT, ENDS, LAGS, SHOWN
from tests.faults.commands.judge import Judge
from tests.faults.commands.ledger import plain


def at_rest(judge: Judge) -> None:
    """Judge a key for which only sweeps still run, before an operator acts."""
    if not (judge.run.undelivered or judge.run.projecting) and (unlisted := judge.behind() - judge.lagging):
        judge.broken(LAGS, f"{unlisted} show an older version than data, and are not listed")
    if judge.finished == judge.newest:
        return
    if not judge.blocked:
        judge.broken(ENDS, f"version {judge.finished + 1} is {judge.status(judge.finished + 1)}, and nothing happens")
    elif judge.run.skips:
        judge.broken(ENDS, f"version {judge.finished + 1} is dead, is not skipped, and nothing happens")
    elif judge.run.swept is not None and not judge.run.swept["blocked"]:
        judge.broken(ENDS, "the sweep counts no blocked key")


def at_last(judge: Judge) -> None:
    """Judge a key after everything has been delivered, and an operator has retried or skipped what was listed."""
    if judge.finished < judge.newest or judge.dead or "pending_since" in (judge.gate or {}):
        judge.broken(ENDS, f"the gate has {judge.finished} of {judge.newest}, dead {sorted(judge.dead)}")
    if sorted(judge.published) != list(range(1, judge.newest + 1)) or max(judge.published.values()) > 1:
        judge.broken(ANSWERS, f"{dict(judge.published)} of {judge.newest} versions")
    for execution in judge.run.engine.executions():
        if execution["status"] == "RUNNING":
            judge.broken(ENDS, f"an execution waits forever: {execution['input']}")


def rebuilt(judge: Judge) -> None:
    """Judge a key after an operator has rebuilt every target."""
    data = judge.data
    if data is None:
        return
    if judge.lagging:
        judge.broken(LAGS, f"{judge.lagging} are rebuilt, and still listed")
    version, attributes = int(data["version"]["N"]), plain(data["attributes"])
    for name, shown in (("products", judge.products), ("catalog", judge.catalog)):
        if shown != version:
            judge.broken(CURRENT, f"{name} shows version {shown}, the data {version}")
            return
    deleted = data["deleted"]["BOOL"]
    wanted = None if deleted else (data["name"]["S"], attributes["price"], attributes.get("available", True))
    rows = [plain({"M": row}) for key, row in judge.rows["ProductsTable"].items() if key != judge.own]
    for name, found in (("products", rows[0] if rows else {}), ("catalog", judge.shown)):
        facts = (found["name"], found["price"], found["available"]) if "name" in found else None
        if facts != wanted:
            judge.broken(SHOWN, f"{name}: {facts}, not {wanted}")


def stale_targets(judge: Judge) -> None:
    """Judge targets before a rebuild: each shows the data, or a newer version that was skipped."""
    data = int(judge.data["version"]["N"]) if judge.data else 0
    for name, shown in (("products", judge.products), ("catalog", judge.catalog)):
        if shown < data and name not in judge.lagging:
            judge.broken(LAGS, f"{name} shows version {shown}, the data {data}, and it is not listed")
        if shown > data and judge.status(shown) != "finish:SKIPPED":
            judge.broken(CURRENT, f"{name} shows version {shown}, which is {judge.status(shown)}")
