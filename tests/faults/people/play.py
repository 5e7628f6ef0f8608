"""Plays one schedule to its end, judging it along the way."""

from collections import Counter
from dataclasses import dataclass
from functools import cache, partial

from ministack.services import stepfunctions

from accounts.screening import limit_key
from idempotency.codec import to_item
from runtime.dynamodb import dynamodb
from tests.faults.actors import totals
from tests.faults.actors.playing import DAY, SWEEP_EVERY, let_expire, outcome_of, playing, started
from tests.faults.actors.schedule import Focus
from tests.faults.people import schedule as s
from tests.faults.people.engine import Engine
from tests.faults.people.run import Run
from tests.faults.people.schedule import Schedule

_MAX_SWEEPS = 60
# Seconds of throttling; shorter than the total backoff of a throttled state.
_THROTTLED = 550
_WEEKS = 20 * DAY
_MONTHS = 91 * DAY
# Most runs come to rest once or twice.
_WEIGHT = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(totals.Outcome):
    """Result of a schedule. approvals: by status. answers: to reviewers. cuts: where branches were when one failed."""

    approvals: Counter[str]
    answers: Counter[str]
    cuts: Counter[tuple[str, ...]]


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
        ends=Counter(str(row["status"]) for row in judge.applications.values()),
        approvals=Counter(str(row["status"]) for row in judge.approvals.values()),
        answers=run.answers,
        cuts=run.cuts,
    )


def _live(run: Run) -> None:
    run.may_throttle(_THROTTLED)
    if run.plan.crowded:
        limit = to_item({**limit_key("max_customers_at_address"), "value": 1})
        dynamodb().put_item(TableName=run.engine.stack.name("ScreeningTable"), Item=limit)
    for one in run.plan.applications:
        if one.document is not None:
            run.put_document(one.request["document_key"], one.document)
        if one.newer is not None:
            run.spawn(partial(run.put_document, one.request["document_key"], one.newer[1]), one.newer[0])
        for moment in one.callers:
            run.spawn(partial(run.submit, one.request), moment)
        if one.other is not None:
            run.spawn(partial(run.submit, one.other_request), one.other)
    _let_it_go_on(run)
    if _rests(run, s.MONTHS_PASS):
        _months_pass(run)
        _let_it_go_on(run)
    run.judge.at_last()


def _let_it_go_on(run: Run) -> None:
    """Sweep until everything has ended: after five minutes, then after increasing pauses up to a day."""
    pause = SWEEP_EVERY
    for _ in range(_MAX_SWEEPS):
        run.simulation.run(until=run.simulation.now + pause)
        if run.simulation.quiet and run.judge.at_rest():
            return
        waiting = any(row["status"] == "WAITING" for row in run.judge.approvals.values())
        if waiting and not run.sweepless_until and _rests(run, s.WEEKS_WITHOUT):
            run.sweepless_until = run.simulation.now + _WEEKS
            run.simulation.run(until=run.sweepless_until)
        run.spawn(run.sweep)
        run.spawn(run.operate)
        pause = min(2 * pause, DAY)


def _rests(run: Run, kind: str) -> bool:
    run.counts["rest"] += 1
    place = f"rest#{run.counts['rest']}"
    if not run.faults.at(place, [kind], _WEIGHT):
        return False
    run.say(f"FAULT {kind} {place}")
    return True


def _months_pass(run: Run) -> None:
    """Step Functions forgets old executions and TTL deletes some expired rows; then every call is repeated."""
    run.months_passed = True
    run.simulation.now += _MONTHS
    stepfunctions._executions.clear()
    let_expire(run, run.engine.TABLES)
    for one in run.plan.applications:
        run.spawn(partial(run.submit, one.request), run.later.uniform(0, 600))
    for approval_id in run.judge.approvals:
        run.spawn(partial(run.decide, approval_id, "approve", "somebody"), run.later.uniform(0, 600))
    for event in run.later.sample(run.events, min(2, len(run.events))):
        run.spawn(event, run.later.uniform(0, 600), bare=True)
    run.spawn(run.stray, run.later.uniform(0, 600), bare=True)
