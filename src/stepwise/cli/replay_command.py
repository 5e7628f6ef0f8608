"""`stepwise replay`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from botocore.config import Config
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from stepwise.cli import checks, output, views, waiting
from stepwise.cli.options import chosen_stack
from stepwise.local.drawing import Text
from stepwise.operations.orders import OrderNotFound, require_id
from stepwise.operations.replay.budget import Budget
from stepwise.operations.replay.checkpoint import Checkpoint
from stepwise.operations.replay.failed import FailedRecords, Stuck
from stepwise.operations.replay.fire import Outcome, Trigger
from stepwise.operations.replay.kept import deliverer
from stepwise.operations.replay.orders import Orders
from stepwise.operations.replay.run import Pages, Replay
from stepwise.operations.stack import Stack

DEFAULT_RATE = 500.0


def replay(
    order_id: Annotated[str | None, typer.Option(help="Replay this order.")] = None,
    day: Annotated[
        str, typer.Option("--date", callback=checks.day, help="Replay the orders created on this day, YYYY-MM-DD.")
    ] = "",
    every: Annotated[bool, typer.Option("--all", help="Replay every order.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="Replay the bucket of failed records.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count the orders without replaying them.")] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(callback=checks.new_file, help="File to resume from after Ctrl-C or a crash.")
    ] = None,
    rate: Annotated[
        float, typer.Option(min=0, help="Capacity units a second, reads and writes together; 0: no limit.")
    ] = DEFAULT_RATE,
) -> None:
    """Replay orders through the stream of Orders, by raising their revision. Exits with 1 if something is stuck."""
    if [order_id is not None, bool(day), every, failed].count(True) != 1:
        raise typer.BadParameter("pass exactly one of --order-id, --date, --all and --failed", param_hint="replay")
    if failed and checkpoint:
        raise typer.BadParameter(
            "--failed needs no checkpoint: finished objects leave the bucket", param_hint="--checkpoint"
        )
    if order_id is not None:
        require_id(order_id)
    stack, budget = chosen_stack(), Budget(rate)
    orders = Orders(stack.dynamodb, stack.outputs["OrdersTable"], budget)
    with _progress(orders.count() if every else None) as progress, _broken_off(checkpoint, failed=failed):
        if failed:
            records = _failed(stack, budget, progress)
            counts = records.run(dry=dry_run)
        else:
            selection = {"order_id": order_id} if order_id else {"date": day} if day else {"all": "orders"}
            kept = Checkpoint(checkpoint, {**selection, "table": orders.table})
            run = Replay(_pages(orders, selection), _trigger(stack, budget), kept, progress)
            counts = run.count() if dry_run else run.run()
    if order_id and not counts.total():
        raise OrderNotFound(f"there is no order {order_id}")
    outcomes = {one.name.lower(): counts[one] for one in Outcome}
    stuck = records.stuck if failed else []
    output.show(
        {
            "dry_run": dry_run,
            "orders": counts.total(),
            "outcomes": outcomes,
            "stuck": [{"record": one.record, "cause": one.cause} for one in stuck],
        },
        _summary(counts, budget, dry=dry_run),
        *([_stuck(stuck)] if stuck else []),
    )
    raise typer.Exit(1 if counts[Outcome.STUCK] else 0)


def _pages(orders: Orders, selection: dict[str, str]) -> Pages:
    match selection:
        case {"order_id": order_id}:
            return lambda _: orders.one(order_id)
        case {"date": day}:
            return lambda after: orders.of_day(day, after)
    return orders.all


def _trigger(stack: Stack, budget: Budget) -> Trigger:
    once = Config(retries={"total_max_attempts": 1}, max_pool_connections=32)
    client = stack.session.client("dynamodb", endpoint_url=stack.endpoint, config=once)
    return Trigger(client, stack.outputs["OrdersTable"], budget)


def _failed(stack: Stack, budget: Budget, progress: Any) -> FailedRecords:
    bucket = stack.outputs["FailedRecordsBucket"]
    return FailedRecords(
        stack.dynamodb, stack.client("s3"), bucket, _trigger(stack, budget), deliverer(stack), progress
    )


@contextmanager
def _broken_off(checkpoint: Path | None, *, failed: bool) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        goes_on = "resumes here" if checkpoint or failed else "starts again; use --checkpoint to resume"
        views.console(stderr=True).print(f"Interrupted. The same command {goes_on}.")
        raise typer.Exit(130) from None


@contextmanager
def _progress(total: int | None) -> Iterator[Any]:
    if not waiting.on_terminal():
        with waiting.waiting("replaying") as line:
            done: Counter[str] = Counter()

            def advance(more: int) -> None:
                done["done"] += more
                line.update(f"replaying: {done['done']:,} done")

            yield advance
        return
    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=views.console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=total)
        yield lambda more: shown.advance(task, more)


def _summary(counts: Counter[Outcome], budget: Budget, *, dry: bool) -> Any:
    rows = [[_told(outcome, dry=dry), str(counts[outcome])] for outcome in Outcome if counts[outcome]]
    title = "Replay, counted only: nothing was written" if dry else "Replay"
    return views.table(
        title,
        ["what", "number"],
        [*rows, ["all", str(counts.total())], ["capacity units", f"{budget.consumed:.0f}"]],
    )


def _told(outcome: Outcome, *, dry: bool) -> str:
    would = {Outcome.FIRED: "would be replayed", Outcome.DELIVERED: "would be delivered unchanged"}
    return would.get(outcome, outcome.value) if dry else outcome.value


def _stuck(stuck: Sequence[Stuck]) -> Any:
    return views.table(
        "Still failing", ["record", "cause"], [[one.record, Text(one.cause, style="red")] for one in stuck]
    )
