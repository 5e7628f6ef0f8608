"""Starts the simulators of services that MiniStack does not have. They end with the emulator's process.

A simulator is a module for `python -m`. It listens on a free port of the loopback, writes the port as the first line of
its standard output, and exits when its standard input ends. `serve` does all three for a server.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from socketserver import TCPServer

from stepwise.local.project import SOURCES


@dataclass(frozen=True, slots=True)
class Simulator:
    """A simulator.

    variable: through which the emulator, its functions and the command line find the endpoint, if they all use it.
    parameter: template parameter for a stack that uses the simulator. host: scheme and host of its address.
    """

    name: str
    module: str
    variable: str = ""
    parameter: str = ""
    host: str = "http://127.0.0.1"


SIMULATORS = (
    Simulator("connect", "stepwise.local.simulators.connect", variable="AWS_ENDPOINT_URL_CONNECT"),
    Simulator("gateway", "stepwise.local.simulators.payment_gateway", parameter="PaymentGatewayUrl"),
    Simulator("cards", "stepwise.local.simulators.card_processor", parameter="CardProcessorUrl"),
    Simulator(
        "webhooks", "stepwise.local.simulators.webhook_receiver", parameter="WebhookReceivers", host="https://localhost"
    ),
)

type Started = Mapping[Simulator, subprocess.Popen[str]]


def start() -> Started:
    """Start all simulators; `listening` waits for them. Each exits when this process does, because its pipe closes."""
    return {simulator: _spawn(simulator) for simulator in SIMULATORS}


def listening(started: Started) -> dict[str, str]:
    """Return the endpoint of each simulator, by its name, once it listens. Raises RuntimeError if one has ended."""
    return {simulator.name: f"{simulator.host}:{_port(simulator, process)}" for simulator, process in started.items()}


def record(home: Path, endpoints: Mapping[str, str]) -> None:
    """Write the endpoints, by name, to the folder of an emulator's run, for `recorded`."""
    unfinished = home / "simulators.json.new"
    unfinished.write_text(json.dumps(endpoints))
    unfinished.replace(home / "simulators.json")


def recorded(home: Path) -> dict[str, str]:
    """Read the endpoints by name; none if the emulator is not running."""
    try:
        endpoints: dict[str, str] = json.loads((home / "simulators.json").read_text())
    except OSError:
        return {}
    return endpoints


def variables(endpoints: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables for the endpoints."""
    return {one.variable: endpoints[one.name] for one in SIMULATORS if one.variable and one.name in endpoints}


def serve(server: TCPServer) -> None:
    """Print the port, and serve until standard input ends, in a simulator's process."""
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    sys.stdin.buffer.read()


def _spawn(simulator: Simulator) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", simulator.module],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _port(simulator: Simulator, process: subprocess.Popen[str]) -> int:
    line = process.stdout.readline() if process.stdout else ""
    if not line:
        raise RuntimeError(f"the simulator {simulator.name} stopped during startup")
    return int(line)
