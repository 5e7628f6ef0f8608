"""Plays one schedule to its end, judging it along the way."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cache, partial

from ministack.services import s3, stepfunctions

from tests.faults.actors import totals
from tests.faults.actors.expiry import EXPIRING
from tests.faults.actors.playing import DAY, let_expire, outcome_of, playing, started, until_ended
from tests.faults.actors.schedule import Focus
from tests.faults.imports.engine import Engine
from tests.faults.imports.ledger import FINAL_STATUSES
from tests.faults.imports.run import Run
from tests.faults.imports.schedule import Schedule

_IMPATIENT = 0.5
# Seconds of throttling; shorter than the total backoff of a throttled state.
_THROTTLED = 3_000
_WORK_EXPIRES, _EXECUTIONS_EXPIRE = 7, 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(totals.Outcome):
    """Result of a schedule. rows: by outcome. retries: imports that follow another.

    refused: retries that were refused.
    """

    rows: Counter[str] = field(default_factory=Counter)
    retries: int = 0
    refused: int = 0


@cache
def engine() -> Engine:
    """Return the engine of this process."""
    return started(Engine)


def play(schedule: Schedule, focus: Focus | None = None, kind: type[Run] = Run) -> Outcome:
    """Play one schedule in this process. focus: draws faults there only."""
    run = kind(engine=engine(), schedule=schedule, focus=focus)
    with playing(run):
        _live(run)
    judge, imports = run.judge, run.judge.imports.values()
    rows = Counter[str]()
    for row in imports:
        rows.update({name: int(row[f"{name}_rows"]) for name in ("succeeded", "failed", "unprocessed")})
    return Outcome(
        **outcome_of(run, judge),
        ends=Counter(str(row["status"]) for row in imports),
        rows=rows,
        retries=sum("retry_of" in row for row in imports),
        refused=run.refused,
    )


def _live(run: Run) -> None:
    run.may_throttle(_THROTTLED)
    run.spawn(run.known, bare=True)
    run.simulation.run()
    for request in run.first_requests():
        run.spawn(partial(run.ask, request))
    for work, moments in ((run.other, run.plan.others), (run.stop_import, run.plan.stops)):
        for moment in moments:
            run.spawn(work, moment, bare=True)
    for number in range(1, run.plan.retries + 1):
        _let_it_go_on(run, impatient=run.chance.random() < _IMPATIENT)
        if run.simulation.quiet:
            _rest(run)
        for request in run.retry_requests(number):
            run.spawn(partial(run.ask, request))
    _let_it_go_on(run)
    run.judge.at_last()


def _let_it_go_on(run: Run, *, impatient: bool = False) -> None:
    until_ended(run, run.judge.imports, lambda row: row["status"] in FINAL_STATUSES, impatient=impatient)


def _rest(run: Run) -> None:
    """Let days pass, in some runs: work is deleted, and TTL deletes some expired rows."""
    days = run.days()
    run.simulation.now += days * DAY
    if days > _WORK_EXPIRES:
        objects = s3._buckets[run.engine.bucket]["objects"]
        for key in [key for key in objects if key.startswith("work/")]:
            del objects[key]
    if days > _EXECUTIONS_EXPIRE:
        stepfunctions._executions.clear()
        stepfunctions._map_runs.clear()
    let_expire(run, [*EXPIRING, "ImportsTable"])
