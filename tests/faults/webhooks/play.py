"""Plays one schedule to its end, judging it along the way."""

from collections import Counter
from dataclasses import dataclass
from functools import cache, partial

from tests.faults.actors import totals
from tests.faults.actors.playing import let_expire, outcome_of, playing, started
from tests.faults.actors.schedule import Focus
from tests.faults.webhooks.engine import Engine
from tests.faults.webhooks.plan import DAY
from tests.faults.webhooks.run import Run
from tests.faults.webhooks.schedule import Schedule

_EXPIRE = 90 * DAY
# Seconds of throttling; shorter than the time that the queue retries a message.
_THROTTLED = 3_500


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(totals.Outcome):
    """Result of a schedule.

    accepted: messages. resent: deliveries that an operator sent again. disabled: subscriptions. refused: calls.
    """

    accepted: int
    resent: int
    disabled: int
    refused: int


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
        ends=Counter(judge.ends),
        accepted=judge.accepted,
        resent=judge.resent,
        disabled=sum(map(len, judge.disabled.values())),
        refused=run.refused,
    )


def _live(run: Run) -> None:
    begin = 60.0
    for one in run.plan.subscribers:
        run.spawn(partial(run.subscribe, one))
    run.simulation.run(until=begin)
    run.may_throttle(_THROTTLED)
    for number, (document, moments) in enumerate(run.plan.notices):
        for moment in moments:
            run.spawn(partial(run.notice, number, document), moment)
            if moment > _EXPIRE:
                run.spawn(partial(let_expire, run, run.engine.TABLES), moment - 30)
    for one in run.plan.subscribers:
        run.spawn(partial(run.operate, one))
    run.simulation.run()
    run.judge.at_last()
