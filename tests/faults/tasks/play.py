"""Plays one schedule to its end, judging it along the way."""

from collections import Counter
from dataclasses import dataclass
from functools import cache, partial

from ministack.services import stepfunctions

from tests.faults.actors import totals
from tests.faults.actors.playing import DAY, let_expire, outcome_of, playing, started, until_ended
from tests.faults.actors.schedule import Focus
from tests.faults.tasks.engine import Engine
from tests.faults.tasks.judge import ENDED
from tests.faults.tasks.plan import days
from tests.faults.tasks.run import Run
from tests.faults.tasks.schedule import Schedule

_IMPATIENT = 0.5
# Seconds of throttling; shorter than the total backoff of a throttled state.
_THROTTLED = 1_500
_EXECUTIONS_EXPIRE = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(totals.Outcome):
    """Result of a schedule.

    items: by status. retried: attempts after the first. refused: refused calls. alarms: raised alarms.
    """

    items: Counter[str]
    retried: int
    refused: int
    alarms: int


@cache
def engine() -> Engine:
    """Return the engine of this process."""
    return started(Engine)


def play(schedule: Schedule, focus: Focus | None = None) -> Outcome:
    """Play one schedule in this process. focus: draws faults there only."""
    run = Run(engine=engine(), schedule=schedule, focus=focus)
    with playing(run):
        _live(run)
    judge = run.judge
    return Outcome(
        **outcome_of(run, judge),
        ends=Counter(str(row["status"]) for row in judge.ends.values()),
        items=Counter(status for task_id in judge.tasks for status in judge.statuses(task_id)),
        retried=sum(row["attempt"] > 1 for row in judge.ends.values()),
        refused=run.refused,
        alarms=judge.alarms.total(),
    )


def _live(run: Run) -> None:
    run.may_throttle(_THROTTLED)
    for moment in run.plan.callers:
        run.spawn(partial(run.create, run.plan.task), moment)
    if run.plan.other:
        run.spawn(partial(run.create, run.plan.other), run.chance.choice((0.0, 0.02, 0.1, 40)))
    if run.plan.message:
        run.spawn(partial(run.message, run.plan.message), run.chance.uniform(0, 3))
    for _ in range(run.plan.retries):
        _let_it_go_on(run, impatient=run.chance.random() < _IMPATIENT)
        if run.simulation.quiet:
            _rest(run)
        _retry(run)
    _let_it_go_on(run)
    run.judge.at_last()


def _retry(run: Run) -> None:
    """Retry the failures, as an operator; perhaps twice at once, or the same failures again later."""
    for task_id in run.failed():
        attempt = run.judge.tasks[task_id]["attempt"]
        seen = run.chance.choice((None, attempt))
        for moment in run.chance.choice(((0.0,), (0.0,), (0.0, 0.0), (0.0, run.late()))):
            run.spawn(partial(run.retry, task_id, seen), moment)


def _let_it_go_on(run: Run, *, impatient: bool = False) -> None:
    until_ended(
        run, run.judge.tasks, lambda row: row["status"] in ENDED and "open_since" not in row, impatient=impatient
    )


def _rest(run: Run) -> None:
    """Let days pass, in some runs: Step Functions forgets executions, and TTL deletes some expired rows."""
    passed = days(run.chance)
    run.simulation.now += passed * DAY
    if passed > _EXECUTIONS_EXPIRE:
        stepfunctions._executions.clear()
    let_expire(run, run.engine.TABLES)
