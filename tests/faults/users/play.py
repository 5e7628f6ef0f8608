"""Plays one schedule to its end, judging it along the way."""

from collections import Counter
from dataclasses import dataclass
from functools import cache

from ministack.services import stepfunctions

from tests.faults.actors import totals
from tests.faults.actors.playing import DAY, let_expire, outcome_of, playing, started, until_ended
from tests.faults.actors.schedule import Focus
from tests.faults.users.engine import Engine
from tests.faults.users.plan import BY_HAND, COLUMNS, File
from tests.faults.users.run import Run
from tests.faults.users.schedule import Schedule

_IMPATIENT = 0.5
# Seconds of throttling; shorter than the total backoff of a throttled state.
_THROTTLED = 550
_FILES_EXPIRE, _OLD_VERSIONS_EXPIRE, _REDRIVABLE, _EXECUTIONS_EXPIRE = 8, 1, 14, 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(totals.Outcome):
    """Result of a schedule. rows: by code, of all results. users: those that imports have created."""

    rows: Counter[str]
    users: int


@cache
def engine() -> Engine:
    """Return the engine of this process."""
    return started(Engine)


def play(schedule: Schedule, focus: Focus | None = None) -> Outcome:
    """Play one schedule in this process. focus: draws faults there only."""
    run = Run(engine=engine(), schedule=schedule, focus=focus)
    with playing(run):
        _live(run)
    return Outcome(
        **outcome_of(run, run.judge),
        ends=Counter(one.status for one in run.judge.imports.values()),
        rows=run.judge.rows,
        users=sum(made.by is not None for made in run.outside.made.values()),
    )


def _live(run: Run) -> None:
    run.may_throttle(_THROTTLED)
    run.spawn(run.first)
    for moment, work in run.plan.others:
        run.spawn(getattr(run, work), moment)
    for days in run.plan.rests:
        _let_it_go_on(run, impatient=run.chance.random() < _IMPATIENT)
        if run.simulation.quiet:
            _rest(run, days)
        work = run.chance.choice((run.retry, run.retry, run.redrive, run.redrive, run.newer, run.again))
        run.spawn(work if days < _REDRIVABLE or work != run.redrive else run.newer)
    _let_it_go_on(run)
    _look(run)


def _look(run: Run) -> None:
    """Import the newest version once more, without faults."""
    run.at_last = True
    run.simulation.now += run.plan.lag
    file = File(run.latest.get(run.key, run.plan.first).rows, COLUMNS)
    run.spawn(lambda: run.start(run.upload(run.key, file)) if run.key == BY_HAND else run.upload(run.key, file))
    _let_it_go_on(run)
    found = [one for one in run.judge.imports.values() if one.file is file]
    run.judge.at_last_import(found[0] if found else None)


def _let_it_go_on(run: Run, *, impatient: bool = False) -> None:
    until_ended(run, run.judge.imports, lambda one: one.status != "RUNNING", impatient=impatient)


def _rest(run: Run, days: float) -> None:
    """Let days pass, in some runs: the bucket deletes files and old versions, and TTL deletes some expired rows."""
    run.simulation.now += days * DAY
    for key in run.engine.stored():
        if days >= _FILES_EXPIRE and ("UserCreateResult_" not in key or key.startswith("manual/")):
            run.removed = True
            run.engine.remove(key)
    if days >= _EXECUTIONS_EXPIRE:
        stepfunctions._executions.clear()
    let_expire(run, run.engine.TABLES)
