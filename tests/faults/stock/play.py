"""Plays one schedule to its end, and judges it on the way."""

import os
from collections import Counter
from dataclasses import dataclass
from functools import cache, partial

from runtime.dynamodb import attributes, dynamodb
from tests.faults.actors import totals
from tests.faults.actors.schedule import Focus
from tests.faults.seams import DYNAMODB_ENDPOINT
from tests.faults.stock.engine import Engine
from tests.faults.stock.run import Run, ends
from tests.faults.stock.schedule import Schedule
from tests.kit.deployed_stack import Stack

_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(totals.Outcome):
    """orders: number of them. spread: whether the SKU began with shards. conflicts: transactions that lost.

    reached: what happened that few schedules reach.
    """

    orders: int
    spread: bool
    conflicts: int
    reached: Counter[str]


@cache
def engine() -> Engine:
    """The engine of this process."""
    # On one DynamoDB Local, each process has its own tables.
    prefix = f"p{os.getpid()}-" if DYNAMODB_ENDPOINT in os.environ else ""
    return Engine(Stack(prefix)).start()


def play(schedule: Schedule, focus: Focus | None = None) -> Outcome:
    """Play one schedule in this process. focus: draws faults there only."""
    run = Run(engine=engine(), schedule=schedule, focus=focus)
    engine().begin(run)
    conflicts = engine().conflicts.conflicts
    try:
        _stock(run)
        _live(run)
        ended = ends(run)
    finally:
        run.simulation.close()
        engine().clear()
    judge = run.judge
    return Outcome(
        violations=tuple(judge.violations),
        injected=Schedule(schedule.seed, tuple(run.faults.injected)),
        trace=tuple(run.trace),
        seconds=run.simulation.now,
        outcomes=judge.outcomes,
        calls=judge.calls,
        hits=judge.hits,
        stops=judge.stops,
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
            dynamodb().put_item(TableName=table, Item=attributes({"pk": key, "on_hand": pieces, **counted}))
    run.judge.begin()


def _live(run: Run) -> None:
    for order in run.plan.orders:
        run.spawn(partial(run.place, order), order.at)
    for command in run.plan.commands:
        run.spawn(partial(run.command, command), command.at)
    run.simulation.run(until=_DAY)
    # As a recovery does it, or the sweep that starts one.
    for order in run.plan.orders:
        execution = run.engine.execution(order.order_id)
        if execution is None or execution["status"] != "SUCCEEDED":
            run.spawn(partial(run.undo, order), bare=True)
    run.simulation.run(until=2 * _DAY)
    run.judge.at_last()
