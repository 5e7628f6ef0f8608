"""What an order, and an imported user, consume and cost: `python -m benchmarks.costs [PRICES.json]`.

Real runs on a local stack of its own: state transitions from the histories, invocations from the logs, capacity units
from what DynamoDB answers. Nothing is taken from the code's intentions. Prices are inputs, in prices.json.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from local import emulator, stock, views
from local.deployment import deploy
from local.orders import ended, execution_arn, place, settled
from local.stack import Stack

from .metering import Proxy, proxy

ORDERS = 20
_PRICES = Path(__file__).with_name("prices.json")
_MEMORY_GB = 0.5
# Two lines a call, some 300 bytes each as Lambda writes them in JSON: estimated, not counted.
_LOG_GB = 600 / 2**30
# An express workflow is billed in 64 MB and 100 ms.
_EXPRESS_GB, _EXPRESS_SECONDS = 64 / 1024, 0.1
_QUIET_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Use:
    """What one order consumes. seconds: from an execution's start to its end. milliseconds: of all invocations."""

    transitions: float
    seconds: float
    invocations: float
    milliseconds: float
    calls: float
    writes: float
    refused: float
    reads: float
    notices: float

    def __sub__(self, other: "Use") -> "Use":
        return Use(*(getattr(self, one.name) - getattr(other, one.name) for one in fields(Use)))

    def __truediv__(self, count: float) -> "Use":
        return Use(*(getattr(self, one.name) / count for one in fields(Use)))


def main() -> None:
    prices = json.loads(Path(sys.argv[1] if len(sys.argv) > 1 else _PRICES).read_text())
    with _stack() as (stack, metered):
        used = dict(_orders(stack, metered))
    out = views.console()
    columns = ["of one", *(one.name for one in fields(Use))]
    rows = [[case, *(f"{getattr(use, one.name):.4g}" for one in fields(Use))] for case, use in used.items()]
    out.print(views.table(f"Consumed, the mean of {ORDERS}", columns, rows))
    title = f"{prices['currency']} for a million, {prices['region']}, {prices['as_of']}"
    parts = {case: _costs(use, prices["prices"]) for case, use in used.items()}
    columns = ["of a million", *next(iter(parts.values())), "all"]
    rows = [
        [case, *(f"{1e6 * cost:,.2f}" for cost in (*one.values(), sum(one.values())))] for case, one in parts.items()
    ]
    out.print(views.table(title, columns, rows))
    express = [[case, f"{1e6 * _express(use, prices['prices']):,.2f}"] for case, use in used.items()]
    out.print(views.table("The state machine alone as an express workflow", ["of a million", "express"], express))


@contextmanager
def _stack() -> Iterator[tuple[Stack, Proxy]]:
    # Without signatures, which cover the body: the proxy asks for what is consumed.
    with proxy() as metered:
        settings = {"AWS_ENDPOINT_URL_DYNAMODB": metered.endpoint, "AUTH": "false"}
        with emulator.attached(settings) as running:
            metered.target = running.endpoint
            deploy(running.endpoint, running.log)
            yield Stack.local(running.endpoint), metered


def _orders(stack: Stack, metered: Proxy) -> Iterator[tuple[str, Use]]:
    stock.seed(stack, {"tea-01": 10_000, "pot-01": 1})
    cases: dict[str, tuple[str, str]] = {
        "success": ("tea-01", "tok_visa"),
        "decline": ("tea-01", "tok_declined"),
        "out of stock": ("pot-01", "tok_visa"),
    }
    for case, (sku, token) in cases.items():
        _place(stack, [_order(f"warm-{sku}-{token}-{number}", sku, token) for number in range(3)])
        documents = [_order(f"{sku}-{token}-{number}", sku, token) for number in range(ORDERS)]
        yield case, _used(stack, metered, lambda documents=documents: _place(stack, documents)) / ORDERS  # type: ignore[misc]


def _order(order_id: str, sku: str, token: str) -> dict[str, Any]:
    return {
        "order_id": order_id,
        "customer_id": "c-7",
        "currency": "JPY",
        "items": [{"sku": sku, "quantity": 2, "unit_price": 1500}],
        "payment": {"method": "card", "token": token},
    }


def _place(stack: Stack, documents: list[dict[str, Any]]) -> list[str]:
    """Run the orders one after the other, so that no two wait for each other. Returns the executions' ARNs."""
    for document in documents:
        place(stack, document)
        ended(stack, document["order_id"])
        settled(stack, document["order_id"])
    return [execution_arn(stack, document["order_id"]) for document in documents]


def _used(stack: Stack, metered: Proxy, run: Callable[[], list[str]]) -> Use:
    _wait_for_quiet(metered)
    before = _invocations(stack)
    metered.meter.reset()
    executions = run()
    _wait_for_quiet(metered)
    invocations, milliseconds = (after - earlier for after, earlier in zip(_invocations(stack), before, strict=True))
    meter = metered.meter
    transitions = notices = seconds = 0.0
    for arn in executions:
        events = _history(stack, arn)
        seconds += (events[-1]["timestamp"] - events[0]["timestamp"]).total_seconds()
        states = [state for state in map(_entered, events) if state]
        # A retry would be one more; nothing is retried here.
        transitions += len(states)
        notices += sum(state.startswith("sns:") for state in states)
    calls = sum(meter.calls.values())
    return Use(
        transitions, seconds, invocations, milliseconds, calls, meter.writes, meter.refused, meter.reads, notices
    )


def _wait_for_quiet(metered: Proxy) -> None:
    """Until the last event and the stream's last record are worked on."""
    seen, since = -1, time.monotonic()
    while time.monotonic() - since < _QUIET_SECONDS:
        now = sum(metered.meter.calls.values())
        if now != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.2)


def _history(stack: Stack, arn: str) -> list[Any]:
    pages = stack.stepfunctions.get_paginator("get_execution_history").paginate(executionArn=arn)
    return [event for page in pages for event in page["events"]]


def _entered(event: Any) -> str | None:
    """The state that an event enters."""
    name: str | None = event.get("stateEnteredEventDetails", {}).get("name")
    return name


def _invocations(stack: Stack) -> tuple[int, float]:
    """How many invocations there were so far, of all functions, and their milliseconds together."""
    logs = stack.client("logs")
    groups = [
        group["logGroupName"] for group in logs.describe_log_groups(logGroupNamePrefix="/aws/lambda/")["logGroups"]
    ]
    reports = [report for group in groups for report in _reports(logs, group)]
    return len(reports), sum(float(report.split("Duration: ")[1].split(" ms")[0]) for report in reports)


def _reports(logs: Any, group: str) -> Iterator[str]:
    for page in logs.get_paginator("filter_log_events").paginate(logGroupName=group):
        yield from (event["message"] for event in page["events"] if event["message"].startswith("REPORT"))


def _costs(use: Use, prices: Mapping[str, float]) -> dict[str, float]:
    return {
        "Step Functions": use.transitions * prices["state_transition"],
        "Lambda": use.invocations * prices["lambda_request"]
        + use.milliseconds / 1000 * _MEMORY_GB * prices["lambda_gb_second"],
        "DynamoDB": use.writes * prices["dynamodb_write_unit"] + use.reads * prices["dynamodb_read_unit"],
        "SNS": use.notices * prices["sns_publish"],
        "logs": use.invocations * _LOG_GB * prices["log_gb"],
    }


def _express(use: Use, prices: Mapping[str, float]) -> float:
    """What the state machine alone would cost as an express workflow."""
    seconds = -(-use.seconds // _EXPRESS_SECONDS) * _EXPRESS_SECONDS
    return prices["express_request"] + seconds * _EXPRESS_GB * prices["express_gb_second"]


if __name__ == "__main__":
    main()
