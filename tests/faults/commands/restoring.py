"""A gate put back to an old state, as by a restore of GatesTable alone, and the invariants until it is rebuilt."""

from functools import partial
from typing import TYPE_CHECKING

from runtime.dynamodb import dynamodb
from tests.faults.actors.expiry import expire
from tests.faults.commands import invariants
from tests.faults.commands.ledger import has_ended
from tests.faults.seams import Document

if TYPE_CHECKING:
    from tests.faults.commands.judge import Judge
    from tests.faults.commands.run import Run

_KEPT = {invariants.DATA, invariants.FINAL, invariants.HISTORY, invariants.RESTORED, invariants.TYPE}
WAIVED = frozenset(value for name, value in vars(invariants).items() if name.isupper()) - _KEPT
"""Invariants waived for a key whose gate is older than its rows."""
WAIVED_FOR_GOOD = frozenset({invariants.WAITS, invariants.LISTED, invariants.SKIPPED, invariants.DEAD})
"""Invariants waived for a key whose gate was rebuilt: it is unknown how long its versions have waited."""
_TRIES, _PAUSE = 6, 30.0
_EXPIRED, _FUTURE = 0.5, 10.0**11
_NEXT = {
    "attributes": {"category": "tea", "price": 1, "currency": "JPY"},
    "mode": "sync",
    "request_id": "after a restore",
}


def restore(run: "Run", judge: "Judge") -> None:
    """Put the gate back as it was before its rows came this far, if there was such a moment."""
    images = [image for image in judge.images if contradicts(judge, image)]
    if judge.waived or run.passed or not images:
        return
    image = run.later.choice(images)
    judge.waived, judge.restored_at = WAIVED, run.simulation.now
    run.say(f"the gate is put back: {image['finished']['N']} of {image['published']['N']}")
    dynamodb().put_item(TableName=run.engine.stack.name("GatesTable"), Item=image)
    if run.later.random() < _EXPIRED:
        _expire(run, judge)


def _expire(run: "Run", judge: "Judge") -> None:
    """Expire the rows of ended versions: the restored gate is older than their lifetime."""
    for version in range(1, judge.newest + 1):
        if (row := judge.command(version)) and has_ended(row):
            judge.expired.add(version)
            expire(run.engine.stack.name("CommandsTable"), {name: row[name] for name in ("pk", "sk")}, _FUTURE)


def contradicts(judge: "Judge", gate: Document) -> bool:
    """True if the rows of the key have come further than a gate."""
    published, finished, data = (
        int(gate.get(name, {}).get("N", 0)) for name in ("published", "finished", "data_version")
    )
    rows = {int(row["version"]["N"]): row for row in judge.rows["CommandsTable"].values()}
    ended = any(version > finished and has_ended(row) for version, row in rows.items())
    return ended or max(rows, default=0) > published or data != int(judge.data["version"]["N"] if judge.data else 0)


def rebuild(run: "Run", judge: "Judge") -> None:
    """Act on apparently dead versions and publish, both of which must be rejected. Then rebuild the gate."""
    if judge.blocked:
        run.operate(run.chance.choice(("RetryCommandFunction", "SkipCommandFunction")))
    document = {**next(one.document for one in run.plan if one.key == judge.number), "merge": False, **_NEXT}
    document = {name: value for name, value in document.items() if name not in {"version", "deleted"}}
    for _ in range(_TRIES):
        answer = run.invoke("PublishCommandFunction", document, "AfterRestore")
        if not answer.get("error"):
            judge.broken(invariants.RESTORED, f"a version was published: {answer['body']}")
        # Others may be writing the gate: no judgment is possible yet.
        if not answer.get("error") or answer["body"]["errorType"] == "StateConflict":
            break
        run.simulation.sleep(_PAUSE)
    else:
        judge.broken(invariants.RESTORED, f"a publication is told: {answer['body']['errorType']}")
    if "gate" not in judge.lagging:
        judge.broken(invariants.RESTORED, "the gate is not listed")
    run.rebuild(names=("gate",))
    judge.waived = WAIVED_FOR_GOOD
    if judge.gate and contradicts(judge, judge.gate):
        judge.broken(invariants.RESTORED, f"the rebuilt gate has {judge.finished} of {judge.newest}")


def rebuild_gates(run: "Run", since: float) -> None:
    """Let an operator check each key whose gate is older than its rows. since: when the last sweep began."""
    for judge in run.judges:
        if judge.waived != WAIVED:
            continue
        turn = judge.command(judge.finished + 1)
        waits = judge.finished < judge.newest and bool(turn) and has_ended(turn)
        if waits and run.swept is not None and judge.restored_at < since and "gate" not in judge.lagging:
            judge.broken(invariants.RESTORED, f"version {judge.finished + 1} has ended, and a sweep lists nothing")
        run.spawn(partial(rebuild, run, judge), bare=True, key=judge.number)
