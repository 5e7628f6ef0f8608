"""Redrives a saga, or its recovery, whose execution was stopped somewhere; a held saga continues forward."""

from dataclasses import replace

from runtime import finalization
from stepwise.operations import recovery
from tests.faults import history_invariants, redriving, row_invariants, rows
from tests.faults.engine import RECOVERY, SAGA
from tests.faults.mutant import replaced
from tests.faults.play import clear, new_run, seed
from tests.faults.run import Run
from tests.faults.scenario import Scenario
from tests.faults.subject import SUBJECT
from tests.faults.workers import engine

HELD = replace(SUBJECT.saga, on_interruption="hold")


def forward(scenario: Scenario) -> tuple[list[str], list[str]]:
    """Stop the saga as the scenario says, and continue it. Returns broken invariants, and the trace."""
    redriving.take_hold()
    make = finalization.finalization
    with replaced(finalization, "finalization", lambda _, *rest, **named: make(HELD, *rest, **named)):
        run = new_run(engine(), scenario)
        _forget_saga()
        try:
            seed(engine(), run)
            return [*_broken(run)], run.trace
        finally:
            clear(engine(), run)
            _forget_saga()


def redriven(scenario: Scenario, machine: str, *, late: bool, meanwhile: bool = False) -> tuple[list[str], list[str]]:
    """Stop an execution as the scenario says, and redrive it. Returns broken invariants and the trace.

    late: the event of its end is handled before the redrive, not after the execution has succeeded.
    meanwhile: the event also arrives while the redriven execution runs, and must not fail.
    """
    redriving.take_hold()
    run = new_run(engine(), scenario)
    try:
        seed(engine(), run)
        run.run_saga(run.document)
        if late or machine == RECOVERY:
            run.deliver()
        arn = engine().execution(machine, run.order_id)["executionArn"]
        redriving.redrive({"executionArn": arn}, run.deliver if meanwhile else lambda: None)
        lost = ["an event of the redriven execution was lost"] if run.undelivered else []
        run.calm_down()
        run.deliver()
        run.sweep()
        confirmed = rows.read(engine(), run)[run.order_id].status == SUBJECT.saga.confirmed
        # A prompt redrive completes the saga, and reports its success; later, the saga stays undone.
        wrong = [f"the saga is confirmed: {confirmed}"] if confirmed == (late or machine == RECOVERY) else []
        return [*lost, *wrong, *_judged(run)], run.trace
    finally:
        clear(engine(), run)


def _forget_saga() -> None:
    for made in SUBJECT.caches:
        made.cache_clear()


def _broken(run: Run) -> list[str]:
    operators = engine().operators
    run.run_saga(run.document)
    run.deliver()
    run.sweep()
    held = rows.read(engine(), run)[run.order_id]
    barred = [name for name, record in held.records.items() if record["status"] != "COMMITTED"]
    broken = [f"{name} is barred" for name in barred]
    listed = [one.saga_id for one in recovery.needing_attention(operators.stack, HELD)]
    if held.all_standing and run.order_id not in listed:
        broken.append(f"{held.all_standing} stand, and attention does not list them")
    recovery.redrive(operators.stack, run.order_id, saga=HELD)
    run.calm_down()
    # A duplicate of the stop's event.
    run.deliver()
    found = rows.read(engine(), run)
    if engine().execution(SAGA, run.order_id)["status"] != "SUCCEEDED" or found[run.order_id].status != HELD.confirmed:
        broken.append(f"the saga is {found[run.order_id].status}")
    return [*broken, *_judged(run)]


def _judged(run: Run) -> list[str]:
    found = rows.read(engine(), run)
    histories = history_invariants.histories(engine(), run)
    judged = [*row_invariants.at_rest(run, found), *row_invariants.finalized(run, histories, found)]
    return [f"{invariant}: {detail}" for invariant, detail in judged]
