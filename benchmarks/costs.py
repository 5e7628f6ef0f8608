"""Measures usage and cost of an order, an imported user and a command: `python -m benchmarks.costs [PRICES.json]`.

Real runs on a separate local stack: state transitions from the histories, invocations from the logs, capacity units
from DynamoDB's responses. All figures are measured; prices are inputs, in prices.json.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from rich.table import Table

from stepwise.cli import views
from stepwise.operations import stock, user_imports
from stepwise.operations.commands import publish
from stepwise.operations.orders import ended, execution_arn, finalized, place
from stepwise.operations.stack import Stack

from . import commands
from .metering import Proxy
from .pricing import Use, costs, express_cost
from .results import show, size
from .stacks import Metered, metered

ORDERS, WARM_UP = size(20, 1), size(3, 0)
ROWS, USERS = size((10, 50), (1, 2)), 1000
_PRICES = Path(__file__).with_name("prices.json")
_QUIET_SECONDS = size(3.0, 0.5)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description=__doc__)
    parser.add_argument("prices", nargs="?", type=Path, default=_PRICES, help="a file with your own prices")
    arguments = parser.parse_args()
    prices = json.loads(arguments.prices.read_text())
    _say("deploying a local stack")
    with metered() as on:
        orders = dict(_said(_orders(on)))
        users = {f"user, of {USERS:,}": _import_of_many(on)}
        of_commands = dict(_said(_commands(on)))
    show("benchmarks.costs", *_tables(prices, orders, {**orders, **users, **with_one_target(of_commands)}))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _said(found: Iterator[tuple[str, Use]]) -> Iterator[tuple[str, Use]]:
    """Print each result as it arrives, and pass it on."""
    for case, use in found:
        _say(f"{case}: {use.transitions:.4g} transitions, {use.calls:.4g} calls, {use.writes:.4g} write units")
        yield case, use


def with_one_target(used: dict[str, Use]) -> dict[str, Use]:
    """Add an interpolated row: data and ProductsTable are three targets without the bucket."""
    three, *others = used.items()
    # The SyncData state reads gate, command and data row in one call.
    bucket = Use(1, 0, 1, three[1].milliseconds / three[1].invocations, 1, 0, 0, 3, 0)
    return dict([three, ("command, async, data and one target (calculated)", three[1] - bucket), *others])


def _tables(prices: dict[str, Any], orders: dict[str, Use], used: dict[str, Use]) -> Iterator[Table]:
    columns = ["of one", *(one.name for one in fields(Use))]
    rows = [[case, *(f"{getattr(use, one.name):.4g}" for one in fields(Use))] for case, use in used.items()]
    yield views.table(f"Consumed, mean; imports of {ROWS[0]} and {ROWS[1]} rows", columns, rows)
    title = f"{prices['currency']} for 1,000, {prices['region']}, {prices['as_of']}"
    parts = {case: costs(use, prices["prices"]) for case, use in used.items()}
    columns = ["of 1,000", *next(iter(parts.values())), "all"]
    rows = [
        [case, *(f"{1000 * cost:.4f}" for cost in (*one.values(), sum(one.values())))] for case, one in parts.items()
    ]
    yield views.table(title, columns, rows)
    express = [
        [case, f"{use.seconds:.4f} s", f"{1000 * express_cost(use, prices['prices']):.4f}"]
        for case, use in orders.items()
    ]
    heads = ["of 1,000", "time of one", "express"]
    yield views.table("The state machine alone as an express workflow", heads, express)


def _orders(on: Metered) -> Iterator[tuple[str, Use]]:
    stack = on.stack
    stock.seed(stack, {"tea-01": 10_000, "pot-01": 1})
    cases: dict[str, tuple[str, str]] = {
        "success": ("tea-01", "tok_visa"),
        "decline": ("tea-01", "tok_declined"),
        "out of stock": ("pot-01", "tok_visa"),
    }
    for case, (sku, token) in cases.items():
        _place(stack, [_order(f"warm-{sku}-{token}-{number}", sku, token) for number in range(WARM_UP)])
        documents = [_order(f"{sku}-{token}-{number}", sku, token) for number in range(ORDERS)]
        yield case, consumption(on, partial(_place, stack, documents)) / ORDERS


def _order(order_id: str, sku: str, token: str) -> dict[str, Any]:
    return {
        "order_id": order_id,
        "customer_id": "c-7",
        "currency": "JPY",
        "items": [{"sku": sku, "quantity": 2, "unit_price": 1500}],
        "payment": {"method": "card", "token": token},
    }


def _place(stack: Stack, documents: list[dict[str, Any]]) -> list[str]:
    """Run the orders one after the other, so that none waits for another. Returns the executions' ARNs."""
    for document in documents:
        place(stack, document)
        ended(stack, document["order_id"])
        finalized(stack, document["order_id"])
    return [execution_arn(stack, document["order_id"]) for document in documents]


def _commands(on: Metered) -> Iterator[tuple[str, Use]]:
    """Measure the second version of each key, so that the first one moves to the history."""
    cases = {"async, three targets": ("PRODUCT", "async"), "async, data alone": ("NOTE", "async")}
    cases |= {"sync, three targets": ("PRODUCT", "sync"), "sync, data alone": ("NOTE", "sync")}
    for case, (kind, mode) in cases.items():
        for version in (1, 2):
            documents = [commands.command(f"{mode}-{number}", version, kind, mode) for number in range(ORDERS)]
            used = consumption(on, partial(_publish, on.stack, documents))
        yield f"command, {case}", used / ORDERS


def _publish(stack: Stack, documents: list[dict[str, Any]]) -> list[str]:
    """Run the commands one after the other. Returns the executions' ARNs."""
    for document in documents:
        publish(stack, document)
        commands.wait(stack, document)
    started = [one for one in documents if one["mode"] == "async"]
    return [execution_arn(stack, commands.attempt(one).name, output="CommandArn") for one in started]


def _import_of_many(on: Metered) -> Use:
    """Measure one user of a large import, with a share of the fixed costs, as the difference of two files."""
    _import(on.stack, "warm", size(5, 1))
    short, long = (consumption(on, partial(_import, on.stack, f"u{count}", count)) for count in ROWS)
    row = (long - short) / (ROWS[1] - ROWS[0])
    return (short + row * (USERS - ROWS[0])) / USERS


def _import(stack: Stack, prefix: str, count: int) -> list[str]:
    header = "No.,username,default_password,first_name,last_name"
    rows = [f"{number},{prefix}-{number},Passw0rd-{number},First,Last" for number in range(1, count + 1)]
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("\n".join([header, *rows, ""]))
        file.flush()
        name = user_imports.start(stack, Path(file.name))
    last = list(user_imports.follow(stack, name))[-1]
    if (last.status, last.failed) != ("SUCCEEDED", 0):
        raise RuntimeError(f"{name}: {last}")
    return [execution_arn(stack, name, output="UserImportArn")]


def consumption(on: Metered, run: Callable[[], list[str]]) -> Use:
    """Consumption of a run and everything that it triggers. run: returns the ARNs of its executions."""
    stack, meter = on.stack, on.dynamodb.meter
    wait_for_quiet(on.dynamodb)
    before = invocations(stack)
    meter.reset()
    executions = run()
    wait_for_quiet(on.dynamodb)
    count, milliseconds = (after - earlier for after, earlier in zip(invocations(stack), before, strict=True))
    transitions = notices = seconds = 0.0
    for arn in executions:
        events = history(stack, arn)
        seconds += (events[-1]["timestamp"] - events[0]["timestamp"]).total_seconds()
        states = [state for state in map(entered, events) if state]
        # A retry would add one; there are none here.
        transitions += len(states)
        notices += sum(state.startswith("sns:") for state in states)
    calls = sum(meter.calls.values())
    return Use(transitions, seconds, count, milliseconds, calls, meter.writes, meter.refused, meter.reads, notices)


def wait_for_quiet(metered: Proxy) -> None:
    """Wait until the last event and the stream's last record are processed."""
    seen, since = -1, time.monotonic()
    while time.monotonic() - since < _QUIET_SECONDS:
        now = sum(metered.meter.calls.values())
        if now != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.2)


def history(stack: Stack, arn: str) -> list[Any]:
    """Return all events of an execution."""
    pages = stack.stepfunctions.get_paginator("get_execution_history").paginate(executionArn=arn)
    return [event for page in pages for event in page["events"]]


def entered(event: Any) -> str | None:
    """Name of the state that an event enters."""
    name: str | None = event.get("stateEnteredEventDetails", {}).get("name")
    return name


def invocations(stack: Stack) -> tuple[int, float]:
    """Number of invocations so far, of all functions, and their total milliseconds."""
    logs = stack.client("logs")
    pages = logs.get_paginator("describe_log_groups").paginate(logGroupNamePrefix="/aws/lambda/")
    groups = [group["logGroupName"] for page in pages for group in page["logGroups"]]
    found = [report for group in groups for report in reports(logs, group)]
    return len(found), sum(float(report.split("Duration: ")[1].split(" ms")[0]) for report in found)


def reports(logs: Any, group: str) -> Iterator[str]:
    """Lambda's REPORT line of each invocation."""
    for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group):
        yield from (event["message"] for event in page["events"] if event["message"].startswith("REPORT"))


if __name__ == "__main__":
    main()
