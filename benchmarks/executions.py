"""Executions per second, with MiniStack alone and with the patches, in turn: `python -m benchmarks.executions`.

Prints a table.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from stepwise.cli import views
from stepwise.local.emulator import emulator
from tests.kit.ministack import Account, as_it_comes

from .results import show, size

ROUNDS, EXECUTIONS, AT_ONCE, STATES = size(5, 1), size(400, 10), size(24, 4), 8


def main() -> None:
    found: dict[str, list[tuple[float, float]]] = {"MiniStack alone": [], "with the patches": []}
    for _ in range(ROUNDS):
        for name, start in (("MiniStack alone", _alone), ("with the patches", _patched)):
            with start() as account:
                found[name].append(_measured(account))
    rows = [
        [name, *(f"{statistics.median(values):.1f}" for values in zip(*rounds, strict=True))]
        for name, rounds in found.items()
    ]
    title = f"Executions of {STATES} Pass states, medians of {ROUNDS} rounds"
    show("benchmarks.executions", views.table(title, ["engine", "a second", "CPU ms of one"], rows))


@contextmanager
def _alone() -> Iterator[Account]:
    with tempfile.TemporaryDirectory() as home, as_it_comes(Path(home)) as account:
        yield account


@contextmanager
def _patched() -> Iterator[Account]:
    with emulator.attached() as running:
        yield Account(running.endpoint)


def _measured(account: Account) -> tuple[float, float]:
    """Executions per second, and the engine's CPU time per execution in milliseconds."""
    states: dict[str, Any] = {f"S{number}": {"Type": "Pass", "Next": f"S{number + 1}"} for number in range(STATES)}
    definition = json.dumps({"StartAt": "S0", "States": {**states, f"S{STATES}": {"Type": "Succeed"}}})
    client, role = account.client("stepfunctions"), account.role("bench")
    machine = client.create_state_machine(name="bench", definition=definition, roleArn=role)["stateMachineArn"]

    def run(_: int) -> None:
        started = client.start_execution(stateMachineArn=machine)["executionArn"]
        # MiniStack waits this long before the first state; polling costs time, too.
        time.sleep(0.2)
        account.ended(started)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(run, range(AT_ONCE)))
        used, began = _cpu(account), time.perf_counter()
        list(pool.map(run, range(EXECUTIONS)))
        seconds = time.perf_counter() - began
    return EXECUTIONS / seconds, (_cpu(account) - used) / EXECUTIONS * 1000


def _cpu(account: Account) -> float:
    """CPU seconds that the processes at the account's port have used."""
    port = account.endpoint.rpartition(":")[2]
    engines = [one for one in psutil.Process().children() if one.environ().get("GATEWAY_PORT") == port]
    return sum(sum(one.cpu_times()[:2]) for one in engines)


if __name__ == "__main__":
    main()
