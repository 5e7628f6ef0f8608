"""Tasks: items per second, and consumption and cost of an item: `python -m benchmarks.tasks`. Prints as it goes.

Speed is measured on a plain local stack, consumption on another one whose DynamoDB calls are counted.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from stepwise.cli import views
from stepwise.operations import tasks
from stepwise.operations.commands import publish
from stepwise.operations.orders import execution_arn
from stepwise.operations.stack import Stack
from tasks.state import Status

from . import commands
from .costs import consumption
from .pricing import Use, costs
from .results import show, size
from .stacks import metered, plain

TENANT = "bench"
OBJECT_BYTES = 10_000
WARM_UP = 4
_PRICES = Path(__file__).with_name("prices.json")

type Items = list[dict[str, str]]

out = views.console()


def main() -> None:
    chosen = _arguments()
    prices = json.loads(chosen.prices.read_text())["prices"]
    tables = []
    if chosen.items:
        with plain() as on:
            rows = [[kind, str(chosen.items), *_speed(on.stack, kind, chosen.items)] for kind in TYPES]
        tables.append(views.table("Tasks, two items at once", ["type", "items", "seconds", "items/s"], rows))
    with metered() as at:
        found: dict[str, Use] = {}
        for kind, items_of in TYPES.items():
            _run(at.stack, kind, items_of(at.stack, WARM_UP))
            run = partial(_run, at.stack, kind, items_of(at.stack, chosen.metered))
            found[kind] = consumption(at, run) / chosen.metered
    show("benchmarks.tasks", *tables, _consumed(found, chosen.metered), _costs(found, prices))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-tasks OPTIONS=")
    parser.add_argument("--items", type=int, default=size(200, 4), help="for the speed; 0: do not measure it")
    parser.add_argument("--metered", type=int, default=size(100, 4), help="for what is consumed")
    parser.add_argument("--prices", type=Path, default=_PRICES)
    return parser.parse_args()


def objects(stack: Stack, count: int) -> Items:
    """Items for checksum-object, which all read one object."""
    item = {"bucket": stack.outputs["JobsBucket"], "key": "bench/object"}
    stack.client("s3").put_object(Bucket=item["bucket"], Key=item["key"], Body=os.urandom(OBJECT_BYTES))
    return [item] * count


def products(stack: Stack, count: int) -> Items:
    """Items for rebuild-read-model. Their targets already show the newest version."""
    documents = [commands.command(f"p-{number}", 1, mode="sync") for number in range(count)]
    for document in documents:
        publish(stack, document)
    return [{"pk": document["pk"], "sk": document["sk"]} for document in documents]


TYPES: Mapping[str, Callable[[Stack, int], Items]] = {"checksum-object": objects, "rebuild-read-model": products}


def _speed(stack: Stack, kind: str, count: int) -> list[str]:
    _run(stack, kind, TYPES[kind](stack, WARM_UP))
    items = TYPES[kind](stack, count)
    began = time.perf_counter()
    _run(stack, kind, items)
    seconds = time.perf_counter() - began
    return [f"{seconds:.1f}", f"{count / seconds:.1f}"]


def _run(stack: Stack, kind: str, items: Items) -> list[str]:
    """Run a task to its end. Returns the ARN of its execution. Raises RuntimeError unless every item is done."""
    key = tasks.create(stack, {"task_type": kind, "tenant_code": TENANT, "items": items})
    *_, seen = tasks.follow(stack, key)
    out.print(f"{kind}: {seen.count(Status.COMPLETED)} of {len(items)} items: {seen.task.status}", markup=False)
    if seen.task.status is not Status.COMPLETED:
        raise RuntimeError(f"{seen.name} has not completed: {seen.failed[:3]}")
    return [execution_arn(stack, key.execution(1), output="TaskArn")]


def _consumed(found: Mapping[str, Use], count: int) -> Any:
    columns = ["of one item", "transitions", "invocations", "DynamoDB calls", "write units", "read units"]
    figures = {
        kind: (one.transitions, one.invocations, one.calls, one.writes, one.reads) for kind, one in found.items()
    }
    rows = [[kind, *map("{:.2f}".format, numbers)] for kind, numbers in figures.items()]
    return views.table(f"Consumed, mean of a task of {count} items", columns, rows)


def _costs(found: Mapping[str, Use], prices: Mapping[str, float]) -> Any:
    parts = {kind: costs(use, prices) for kind, use in found.items()}
    rows = [
        [kind, *(f"{1000 * cost:.4f}" for cost in (*one.values(), sum(one.values())))] for kind, one in parts.items()
    ]
    return views.table("USD for 1,000 items, without S3", ["type", *next(iter(parts.values())), "all"], rows)


if __name__ == "__main__":
    main()
