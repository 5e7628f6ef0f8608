"""Plays one schedule to its end, judging it along the way."""

from collections import Counter
from dataclasses import dataclass
from functools import cache, partial

from idempotency.codec import to_item
from runtime.dynamodb import dynamodb
from tests.faults.actors import totals
from tests.faults.actors.playing import DAY, outcome_of, playing, started
from tests.faults.actors.schedule import Focus
from tests.faults.stock.engine import Engine
from tests.faults.stock.run import Run, ends
from tests.faults.stock.schedule import Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(totals.Outcome):
    """Result of a schedule.

    orders: number of them. spread: whether the SKU began with shards. conflicts: transactions that lost.
    reached: events that few schedules reach.
    """

    orders: int
    spread: bool
    conflicts: int
    reached: Counter[str]


@cache
def engine() -> Engine:
    """Return the engine of this process."""
    return started(Engine)


def play(schedule: Schedule, focus: Focus | None = None) -> Outcome:
    """Play one schedule in this process. focus: draws faults there only."""
    run = Run(engine=engine(), schedule=schedule, focus=focus)
    conflicts = engine().conflicts.conflicts
    with playing(run):
        _stock(run)
        _live(run)
        ended = ends(run)
    judge = run.judge
    return Outcome(
        **outcome_of(run, judge),
        ends=ended,
        orders=len(run.plan.orders),
        spread=len(run.plan.stock["tea-01"]) > 1,
        conflicts=engine().conflicts.conflicts - conflicts,
        reached=judge.reached,
    )


def _stock(run: Run) -> None:
    table = engine().stack.name("InventoryTable")
    for sku, rows in run.plan.stock.items():
        for shard, pieces in enumerate(rows):
            counted = {"shards": len(rows)} if shard == 0 and len(rows) > 1 else {}
            key = f"STOCK#{sku}#{shard}" if shard else f"STOCK#{sku}"
            dynamodb().put_item(TableName=table, Item=to_item({"pk": key, "on_hand": pieces, **counted}))
    run.judge.begin()


def _live(run: Run) -> None:
    for order in run.plan.orders:
        run.spawn(partial(run.place, order), order.at)
    for command in run.plan.commands:
        run.spawn(partial(run.command, command), command.at)
    run.simulation.run(until=DAY)
    # As a recovery does, or the sweep that starts one.
    for order in run.plan.orders:
        execution = run.engine.execution(order.order_id)
        if execution is None or execution["status"] != "SUCCEEDED":
            run.spawn(partial(run.undo, order), bare=True)
    run.simulation.run(until=2 * DAY)
    run.judge.at_last()
