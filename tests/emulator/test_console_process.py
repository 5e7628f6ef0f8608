"""The console beside a local stack: it starts with the stack, ends with it, and leaves no process behind."""

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import psutil
import pytest

from stepwise.cli import console_process
from stepwise.local.emulator import emulator
from stepwise.local.emulator.emulator import ROOT, Emulator, free_port
from tests.kit.bounded import program

# Longer than a busy machine takes to start a program.
_SECONDS = 120


@pytest.fixture
def running() -> Iterator[Emulator]:
    with emulator.attached() as started:
        yield started
        console_process.stop(started)


def status(address: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=_SECONDS)
    connection.request("GET", "/runs")
    return connection.getresponse().status


def process_of(running: Emulator) -> psutil.Process:
    return psutil.Process(json.loads(console_process.record(running).read_text())["pid"])


def ends(process: psutil.Process) -> bool:
    gone, _ = psutil.wait_procs([process], timeout=_SECONDS)
    return bool(gone)


def test_console_is_started_once_and_stopped(running: Emulator) -> None:
    address = console_process.start(running, free_port())
    process = process_of(running)

    # Nothing is deployed here.
    assert status(address) == 503
    assert console_process.start(running, free_port()) == address
    console_process.stop(running)
    assert ends(process)
    assert console_process.address(running) == ""


def test_console_ends_with_its_emulator(running: Emulator) -> None:
    console_process.start(running, free_port())
    process = process_of(running)
    emulator.stop(running)

    assert ends(process)


def test_console_listens_on_another_port_if_its_own_is_taken(running: Emulator) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        address = console_process.start(running, port)

    assert urlsplit(address).port != port
    assert status(address) == 503


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_console_stops_on_a_signal_with_a_page_open(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "stepwise.cli", "console", "--port", str(free_port()), "--listen", "0", "--json"]
    with program(command, cwd=ROOT, stdout=subprocess.PIPE) as console:
        assert console.stdout
        address = json.loads("".join(console.stdout.readline() for _ in range(3)))["console"]
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=_SECONDS)
        connection.request("GET", "/events?page=/runs")
        assert connection.getresponse().readline()
        began = time.monotonic()
        console.send_signal(number)
        console.wait(_SECONDS)

    assert time.monotonic() - began < 10


def test_taken_port_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "stepwise.cli", "console", "--listen", port]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_SECONDS, check=False)

    assert (ended.returncode, ended.stdout) == (4, "")
    assert f"port {port} cannot be used" in ended.stderr
