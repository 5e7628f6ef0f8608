"""The first commands of a newcomer, each on its own stack: `make demo` and `make up`."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwise.local.emulator import emulator
from stepwise.local.simulators.payment_gateway.client import GatewayClient
from stepwise.operations.stack import Stack

README = (emulator.ROOT / "README.md").read_text()
# By the demo's name of the order: minimum requests to charge, look up and cancel; then status, amount, refunded.
LEDGER = {
    "a success": ((1, 0, 0), ["succeeded", "3000", "-"]),
    "a decline": ((1, 0, 1), ["canceled", "1500", "0"]),
    "out of stock": ((1, 0, 1), ["canceled", "18000", "18000"]),
    "a lost answer": ((1, 1, 0), ["succeeded", "1500", "-"]),
}
# By row: the first import, up to the colon, and the retry.
IMPORTED = {
    "1": ("PRODUCT#tea-11@1", "not in the file"),
    "2": ("NotANumber price", "PRODUCT#tea-12@1"),
    "3": ("Required name", "PRODUCT#tea-13@1"),
    "4": ("NotAllowed category", "PRODUCT#pot-11@1"),
    "5": ("OutOfRange price", "PRODUCT#cup-11@1"),
    "6": ("PRODUCT#cup-12@1", "not in the file"),
}


def _stepwise(*arguments: str) -> str:
    command = [str(emulator.ROOT / "stepwise"), *arguments]
    ran = subprocess.run(command, env={**os.environ, "COLUMNS": "140"}, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def _shown_in_readme(title: str) -> list[str]:
    return _lines(next(block for block in README.split("```") if block.strip().startswith(f"{title}\n"))[1:])


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Checks that the commands leave nothing in the folder for temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    yield
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def port(temporary: None) -> Iterator[str]:
    free = str(emulator.free_port())
    yield free
    _stepwise("stop", "--port", free)


def test_demo_ends_as_expected() -> None:
    printed = _lines(_stepwise("demo"))
    imported = _rows(printed, "Rows imported from a CSV file, and the failed ones retried")

    assert "\n".join(_shown_in_readme("Orders")) in "\n".join(printed)
    assert {row: (first.split(":")[0], retry) for row, _, first, retry in imported if row} == IMPORTED
    _is_ledger(_rows(printed, "The payment gateway's own ledger"))


def _is_ledger(rows: list[list[str]]) -> None:
    """Check the ledger. On a busy machine the gateway may respond late; then requests are repeated, nothing else."""
    assert {what: end for what, _, _, _, *end in rows} == {what: end for what, (_, end) in LEDGER.items()}
    for what, *requests in rows:
        assert all(int(number) >= least for number, least in zip(requests, LEDGER[what][0], strict=False))


def _rows(printed: list[str], title: str) -> list[list[str]]:
    """The cells of a table below its header."""
    begin = printed.index(title)
    end = next(at for at in range(begin, len(printed)) if printed[at].startswith("└"))
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in printed[begin:end] if line[0] == "│"]


def test_stack_charges_at_the_gateway_for_as_long_as_started_with_it(port: str) -> None:
    _stepwise("start", "--port", port, "--gateway")
    _stepwise("place", "--port", port, "--order-id", "o-1", "--item", "tea-01:2:1500")

    running = emulator.running(int(port))
    assert running is not None
    address = Stack.local(running.endpoint, services=running.simulators).parameters["PaymentGatewayUrl"]
    (charge,) = GatewayClient(address).send("GET", "/_simulator/ledger").document["charges"]
    assert [charge[name] for name in ("order_id", "amount", "status")] == ["o-1", 3000, "succeeded"]
    sums = GatewayClient(address).ledger()["sums"]
    assert running.simulators["gateway"] in _stepwise("status", "--port", port)

    # A second start deploys again, keeps existing data, and switches back to the ledger.
    _stepwise("start", "--port", port)
    assert "Confirmed" in _stepwise("show", "--port", port, "o-1")
    _stepwise("place", "--port", port, "--order-id", "o-2", "--item", "tea-01:1:1500")
    assert GatewayClient(running.simulators["gateway"]).ledger()["sums"] == sums
