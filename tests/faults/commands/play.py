"""Plays one schedule to its end, and judges it on the way."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cache, partial

from tests.faults.commands.closing import at_last, at_rest, rebuilt, stale_targets
from tests.faults.commands.engine import Engine
from tests.faults.commands.invariants import ENDS
from tests.faults.commands.run import Run
from tests.faults.commands.schedule import Focus, Schedule, plan

_SWEEP_EVERY = 300.0
_MAX_SWEEPS = 60
# Of the sweeps that find a blocked key, so that it is seen to be listed first.
_OPERATOR_COMES = 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """violations: invariant and detail. injected: the faults. trace: what happened. seconds: of virtual time.

    hits: faults at calls. stops: ends from outside, by state and kind. ends: how versions ended. states: that the key
    was in. starts: versions in order of arrival.
    """

    schedule: Schedule
    violations: tuple[tuple[str, str], ...]
    injected: Schedule
    trace: tuple[str, ...] = ()
    seconds: float = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    hits: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    stops: Counter[tuple[str, str]] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    states: frozenset[str] = frozenset()
    starts: tuple[int, ...] = ()


@cache
def engine() -> Engine:
    """The engine of this process."""
    return Engine().start()


def play(schedule: Schedule, focus: Focus | None = None) -> Outcome:
    """Play one schedule in this process. focus: draws faults there only."""
    run = engine().run = Run(engine(), schedule, focus)
    try:
        _live(run)
    finally:
        run.simulation.close()
        engine().clear()
    judge = run.judge
    return Outcome(
        schedule,
        tuple(judge.violations),
        Schedule(schedule.seed, tuple(run.faults.injected)),
        tuple(run.trace),
        run.simulation.now,
        judge.outcomes,
        judge.calls,
        judge.hits,
        judge.stops,
        judge.ends(),
        frozenset(judge.states),
        tuple(dict.fromkeys(judge.starts)),
    )


def trace(scenario: str) -> list[str]:
    """Play one schedule in this process; returns what was injected, and what happened."""
    outcome = play(Schedule.parse(scenario))
    return [str(outcome.injected), *outcome.trace]


def _live(run: Run) -> None:
    for publication in plan(run.schedule):
        run.spawn(partial(run.publish_version, publication), publication.after)
    _let_it_go_on(run)
    _deliver_what_is_left(run)
    at_last(run.judge)
    stale_targets(run.judge)
    run.spawn(run.rebuild, bare=True)
    run.simulation.run()
    rebuilt(run.judge)


def _let_it_go_on(run: Run) -> None:
    """Until every version has ended: a sweep every five minutes, and an operator for what is listed."""
    found, before = 0, _reached(run)
    for number in range(1, _MAX_SWEEPS + 1):
        run.simulation.run(until=number * _SWEEP_EVERY)
        if run.simulation.quiet and run.judge.finished == run.judge.newest:
            return
        run.spawn(run.sweep)
        run.simulation.run(until=number * _SWEEP_EVERY + 100)
        # For minutes nothing happened by itself, and a sweep that was not hit has changed nothing.
        if run.swept is not None and _reached(run) == before:
            at_rest(run.judge)
        before = _reached(run)
        if run.judge.blocked:
            found += 1
            if found % _OPERATOR_COMES == 0:
                _operate(run)
    run.judge.broken(ENDS, f"after {_MAX_SWEEPS} sweeps version {run.judge.finished + 1} has not ended")


def _reached(run: Run) -> tuple[str, ...]:
    """The state of the key and of its executions."""
    return run.judge.described(), *(execution["status"] for execution in run.engine.executions())


def _operate(run: Run) -> None:
    """An operator retries what is listed, and skips it if that did not help."""
    retried = int(run.judge.command(run.judge.finished + 1)["attempt"]["N"])
    function = "SkipCommandFunction" if run.chance.random() < 0.3 or retried > 3 else "RetryCommandFunction"
    run.spawn(partial(run.operate, function))


def _deliver_what_is_left(run: Run) -> None:
    """What the mapping of DataTable gave up is replayed: nothing else brings the targets there."""
    for mapping, record in run.undelivered:
        if mapping.function == "SyncTargetsFunction":
            run.spawn(partial(run.deliver, mapping, record), bare=True)
    run.simulation.run()
