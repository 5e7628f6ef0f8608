"""The console that `start` runs beside a local stack: a separate process, which ends with the stack."""

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

from stepwise.local.emulator.emulator import Emulator

_START_SECONDS, _STOP_SECONDS, _PAUSE = 60.0, 5.0, 0.05


def start(running: Emulator, listen: int) -> str:
    """Start the console of a stack, or find the running one. Returns its address; empty if it cannot start.

    listen: its port; if that is taken, it listens on a free one.
    """
    if found := address(running):
        return found
    record(running).unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "stepwise.cli",
        "console",
        "--beside",
        "--port",
        str(running.port),
        "--listen",
        str(listen),
    ]
    with (running.log.parent / "console.log").open("wb") as log:
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and started.poll() is None:
        if found := address(running):
            return found
        time.sleep(_PAUSE)
    return ""


def write(running: Emulator, address: str) -> None:
    """Publish the address that the console listens on, from the console's process."""
    own = psutil.Process()
    told = {"address": address, "pid": own.pid, "created": own.create_time()}
    unfinished = record(running).with_suffix(".new")
    unfinished.write_text(json.dumps(told))
    unfinished.replace(record(running))


def address(running: Emulator) -> str:
    """Return the address of a stack's console; empty if there is none."""
    return _recorded(running)[0] if _process(running) else ""


def stop(running: Emulator) -> None:
    """End the console of a stack, before the stack."""
    if process := _process(running):
        with suppress(psutil.NoSuchProcess):
            process.terminate()
            _, left = psutil.wait_procs([process], timeout=_STOP_SECONDS)
            for one in left:
                one.kill()


def record(running: Emulator) -> Path:
    """Return the file with the console's address; it is removed with the emulator's other files."""
    return running.log.with_name("console.json")


def _recorded(running: Emulator) -> tuple[str, int, float]:
    try:
        told = json.loads(record(running).read_text())
        return told["address"], told["pid"], told["created"]
    except (OSError, ValueError, KeyError):
        return "", 0, 0.0


def _process(running: Emulator) -> psutil.Process | None:
    _, pid, created = _recorded(running)
    try:
        process = psutil.Process(pid) if pid else None
        alive = process and process.create_time() == created and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return process if alive else None
