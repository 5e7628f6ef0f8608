"""Plays one schedule to its end, judging it along the way."""

from collections import Counter
from dataclasses import dataclass
from functools import cache, partial

from tests.faults.actors import totals
from tests.faults.actors.playing import SWEEP_EVERY, outcome_of, playing, started
from tests.faults.actors.schedule import Focus
from tests.faults.commands.closing import at_last, at_rest, rebuilt, stale_targets
from tests.faults.commands.engine import Engine
from tests.faults.commands.invariants import ENDS
from tests.faults.commands.judge import Judge
from tests.faults.commands.restoring import rebuild_gates
from tests.faults.commands.run import Run
from tests.faults.commands.schedule import Schedule

_MAX_SWEEPS = 60
# Seconds of throttling; shorter than the total backoff of a throttled state.
_THROTTLED = 3_000
# Sweeps that find a blocked key before the operator acts, so that it is seen to be listed first.
_OPERATOR_COMES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(totals.Outcome):
    """Result of a schedule. states: the key's states. starts: versions of the first key in order of arrival.

    keys: number of keys. skips: whether the policy skips.
    """

    states: frozenset[str] = frozenset()
    starts: tuple[int, ...] = ()
    keys: int = 1
    skips: bool = False


@cache
def engine() -> Engine:
    """Return the engine of this process."""
    return started(Engine)


def play(schedule: Schedule, focus: Focus | None = None) -> Outcome:
    """Play one schedule in this process. focus: draws faults there only."""
    run = Run(engine=engine(), schedule=schedule, focus=focus)
    with playing(run):
        _live(run)
    judges = run.judges

    return Outcome(
        **outcome_of(run, *judges),
        ends=sum((judge.ends() for judge in judges), Counter()),
        states=frozenset().union(*(judge.states for judge in judges)),
        starts=tuple(dict.fromkeys(judges[0].starts)),
        keys=len(judges),
        skips=run.skips,
    )


def _live(run: Run) -> None:
    run.may_throttle(_THROTTLED)
    for publication in run.plan:
        run.spawn(partial(run.publish_version, publication), publication.after, key=publication.key)
    _let_it_go_on(run)
    if run.rests():
        _let_it_go_on(run)
    _deliver_what_is_left(run)
    for judge in run.judges:
        at_last(judge)
        stale_targets(judge)
        names = [*(["gate"] if judge.waived else []), "products", "catalog"]
        run.spawn(partial(run.rebuild, names), bare=True, key=judge.number)
    run.simulation.run()
    for judge in run.judges:
        rebuilt(judge)


def _let_it_go_on(run: Run) -> None:
    """Sweep every five minutes until every version has ended, with an operator for listed ones."""
    found, before, due = Counter[int](), _reached(run), run.simulation.now
    for _ in range(_MAX_SWEEPS):
        due += SWEEP_EVERY
        run.simulation.run(until=due)
        if run.simulation.quiet and all(judge.done for judge in run.judges):
            return
        run.swept = None
        run.spawn(run.sweep)
        run.simulation.run(until=due + 100)
        rebuild_gates(run, due)
        # For minutes nothing happened by itself, and a sweep without a fault has changed nothing.
        if run.swept is not None and _reached(run) == before:
            _judge_rest(run)
        before = _reached(run)
        if run.simulation.quiet and run.rests():
            due = run.simulation.now
            continue
        for judge in run.judges:
            found[judge.number] += judge.blocked
            if judge.blocked and not run.skips and found[judge.number] % _OPERATOR_COMES == 0:
                _operate(run, judge)
    for judge in run.judges:
        if not judge.done:
            judge.broken(ENDS, f"after {_MAX_SWEEPS} sweeps version {judge.finished + 1} has not ended")


def _judge_rest(run: Run) -> None:
    for judge in run.judges:
        at_rest(judge)


def _reached(run: Run) -> tuple[str, ...]:
    """Return the state of the keys and of their executions."""
    keys = (judge.described() for judge in run.judges)
    return *keys, *(execution["status"] for execution in run.engine.executions())


def _operate(run: Run, judge: Judge) -> None:
    """Retry what is listed, as an operator, and skip it if that did not help."""
    retried = int(judge.command(judge.finished + 1)["attempt"]["N"])
    function = "SkipCommandFunction" if run.chance.random() < 0.3 or retried > 3 else "RetryCommandFunction"
    run.spawn(partial(run.operate, function), key=judge.number)


def _deliver_what_is_left(run: Run) -> None:
    """Replay the records that the mapping of DataTable gave up: nothing else brings the targets up to date."""
    for mapping, record in run.undelivered:
        if mapping.function == "SyncTargetsFunction":
            run.spawn(partial(run.deliver, mapping, record), bare=True, **run.notes_of(record))
    run.simulation.run()
