"""What a newcomer runs first, each on a stack of its own: `make demo`, and `make up` with all that the README shows."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwise.local.emulator import emulator
from stepwise.local.simulators.payment_gateway.client import GatewayClient
from stepwise.operations.stack import Stack

README = (emulator.ROOT / "README.md").read_text()


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
    """The commands leave nothing in the folder for temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    yield
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def port(temporary: None) -> Iterator[str]:
    free = str(emulator.free_port())
    yield free
    _stepwise("stop", "--port", free)


def test_the_demonstration_ends_as_the_readme_shows_it() -> None:
    printed = "\n".join(_lines(_stepwise("demo")))
    imported = "Rows imported from a CSV file, and the failed ones retried"
    for title in ("Orders", imported):
        assert "\n".join(_shown_in_readme(title)) in printed
    _is_ledger("The payment gateway's own ledger", printed.splitlines())


def _is_ledger(title: str, printed: list[str]) -> None:
    """On a busy machine, an answer of the gateway may come too late: then requests are repeated, and nothing else."""
    shown = _shown_in_readme(title)
    for expected, line in zip(shown, printed[printed.index(title) :], strict=False):
        if not expected.startswith("│"):
            assert line == expected
            continue
        (what, *requests), (name, *repeated) = _cells(expected), _cells(line)
        assert (name, repeated[3:]) == (what, requests[3:])
        assert all(int(number) >= int(least) for number, least in zip(repeated[:3], requests[:3], strict=True))


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("│").split("│")]


def test_a_stack_charges_at_the_gateway_as_long_as_it_is_started_so(port: str) -> None:
    _stepwise("start", "--port", port, "--gateway")
    _stepwise("place", "--port", port, "--order-id", "o-1", "--item", "tea-01:2:1500")

    running = emulator.running(int(port))
    assert running is not None
    address = Stack.local(running.endpoint, services=running.simulators).parameters["PaymentGatewayUrl"]
    (charge,) = GatewayClient(address).send("GET", "/_simulator/ledger").document["charges"]
    assert [charge[name] for name in ("order_id", "amount", "status")] == ["o-1", 3000, "succeeded"]
    sums = GatewayClient(address).ledger()["sums"]
    assert running.simulators["gateway"] in _stepwise("status", "--port", port)

    # Another start deploys again, keeps what there is, and leads back to the ledger.
    _stepwise("start", "--port", port)
    assert "Confirmed" in _stepwise("show", "--port", port, "o-1")
    _stepwise("place", "--port", port, "--order-id", "o-2", "--item", "tea-01:1:1500")
    assert GatewayClient(running.simulators["gateway"]).ledger()["sums"] == sums
