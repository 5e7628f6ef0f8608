"""Latency and throughput of commands on the local stack: `python -m benchmarks.commands`. Prints as it goes."""

import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from typing import Any

from entities.command import Attempt, Key
from stepwise.cli import views
from stepwise.operations import commands
from stepwise.operations.functions import FunctionFailed
from stepwise.operations.orders import execution_arn
from stepwise.operations.stack import Stack

from .results import show, size
from .stacks import plain

KEYS, PAIRS, CONCURRENCY, WARM_UP = size(60, 4), size(12, 1), 8, size(16, 2)
_TENANT = "bench"
_POLL_SECONDS = 0.01
_SECONDS = 400


def main() -> None:
    _say("deploying a local stack")
    with plain() as on:
        stack = on.stack
        _say("a command and a pair to warm up")
        _to_data(stack, "warm")
        list(_to_next_start(stack, "warm-pair"))
        latencies = [
            _said("publish to data", number, _to_data(stack, f"alone-{number}")) for number in range(1, PAIRS + 1)
        ]
        gaps = sorted(
            _said("finish(n) to start(n + 1)", number, gap)
            for number in range(1, PAIRS + 1)
            for gap in _to_next_start(stack, f"pair-{number}")
        )
        _say(f"{WARM_UP} commands of as many keys to warm up, then {KEYS}")
        _many(stack, "warm", WARM_UP)
        rate = _many(stack, "many", KEYS)
    rows = [
        [f"publish to data, alone, median of {len(latencies)}", f"{statistics.median(latencies):.3f} s"],
        ["publish to data, slowest", f"{max(latencies):.3f} s"],
        *_of_gaps(gaps),
        [f"commands a second, {KEYS} keys, {CONCURRENCY} publishers", f"{rate:.1f}"],
    ]
    title = "Commands of type PRODUCT through the local stack, warm"
    show("benchmarks.commands", views.table(title, ["figure", "value"], rows))


def _of_gaps(gaps: list[float]) -> list[list[str]]:
    if not gaps:
        return [["finish(n) to start(n + 1)", f"not measured: no version of {PAIRS} pairs had to wait"]]
    return [
        [f"finish(n) to start(n + 1), median of {len(gaps)}", f"{statistics.median(gaps):.3f} s"],
        ["finish(n) to start(n + 1), slowest", f"{gaps[-1]:.3f} s"],
    ]


def _said(what: str, number: int, seconds: float) -> float:
    _say(f"{what}, {number} of {PAIRS}: {seconds:.3f} s")
    return seconds


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def command(name: str, version: int, kind: str = "PRODUCT", mode: str = "async") -> dict[str, Any]:
    """Build a command with its own key.

    kind: PRODUCT has two targets besides data; an unregistered type has none.
    """
    return {
        "pk": f"TENANT#{_TENANT}",
        "sk": f"{kind}#{name}",
        "id": name,
        "code": name,
        "name": "Sencha",
        "type": kind,
        "version": version,
        "tenant_code": _TENANT,
        "attributes": {"category": "tea", "price": 1500 + version, "currency": "JPY"},
        "mode": mode,
    }


def wait(stack: Stack, document: dict[str, Any], poll: float = _POLL_SECONDS) -> None:
    """Wait until the version has finished. Raises TimeoutError after a sweep should have helped it."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        row = stack.row("DataTable", pk=document["pk"], sk=document["sk"])
        if row and row["version"] >= document["version"]:
            return
        time.sleep(poll)
    raise TimeoutError(f"{document['sk']}@{document['version']} has not finished; look at the emulator's log")


def attempt(document: dict[str, Any]) -> Attempt:
    return Attempt(Key(document["pk"], document["sk"]), document["version"], 1)


def _publish(stack: Stack, document: dict[str, Any]) -> None:
    """Publish, and retry as often as necessary: the emulator limits concurrent functions, and is slow then."""
    throttled = stack.client("lambda").exceptions.TooManyRequestsException
    while True:
        with suppress(throttled, FunctionFailed):
            commands.publish(stack, document)
            return


def _to_data(stack: Stack, name: str) -> float:
    """Seconds from the publishing call until the version is data."""
    document = command(name, 1)
    began = time.perf_counter()
    commands.publish(stack, document)
    wait(stack, document)
    return time.perf_counter() - began


def _to_next_start(stack: Stack, name: str) -> Iterator[float]:
    """Seconds from the call of `finish` until the waiting version resumes. Yields nothing if it did not wait."""
    first, second = command(name, 1), command(name, 2)
    for document in (first, second):
        commands.publish(stack, document)
    wait(stack, second)
    row = stack.row("CommandsTable", **attempt(first).row) or {}
    for event in _history(stack, second):
        if event.get("stateExitedEventDetails", {}).get("name") == "wait_prev_command":
            yield (event["timestamp"] - datetime.fromisoformat(row["updated_at"])).total_seconds()


def _history(stack: Stack, document: dict[str, Any]) -> Iterator[Any]:
    arn = execution_arn(stack, attempt(document).name, output="CommandArn")
    for page in stack.stepfunctions.get_paginator("get_execution_history").paginate(executionArn=arn):
        yield from page["events"]


def _many(stack: Stack, prefix: str, count: int) -> float:
    """Commands per second, each with its own key, from the first publication until the last command's data."""
    documents = [command(f"{prefix}-{number}", 1) for number in range(count)]
    began = time.perf_counter()
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        list(pool.map(lambda document: _publish(stack, document), documents))
    for document in documents:
        wait(stack, document, poll=0.1)
    return count / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
