"""The console with many executions: bytes and milliseconds of its pages, memory while they are live.

`python -m benchmarks.console`; `--executions 10000 --minutes 15`. With Playwright, which .venv-browser has, it also
measures what Chromium loads, and when it shows something. `--stackport PROGRAM` (`pip install stackport==0.4.6`, in an
environment of its own) measures StackPort on the same stack. Prints tables.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import psutil
from rich.table import Table

from stepwise.cli import hints, views
from stepwise.console.server import Server
from stepwise.console.settings import Settings
from stepwise.local.emulator import emulator
from stepwise.operations.session import Session
from stepwise.operations.stack import Stack
from tests.kit.ministack import Account

from .results import show, size

MACHINE = {
    "StartAt": "First",
    "States": {
        **{name: {"Type": "Pass", "Next": after} for name, after in (("First", "Second"), ("Second", "Third"))},
        "Third": {"Type": "Wait", "Seconds": 1, "End": True},
    },
}
A_SECOND, WATCHERS, READS, VISITS, SAMPLE_SECONDS = 2, 10, 20, size(5, 1), size(30, 3)
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")


def main() -> None:
    chosen = argparse.ArgumentParser(description=__doc__)
    chosen.add_argument("--executions", type=int, default=size(10_000, 20))
    chosen.add_argument("--minutes", type=float, default=size(15, 0.1))
    chosen.add_argument("--stackport", help="StackPort's program, to be measured as well")
    options = chosen.parse_args()
    with emulator.attached() as running:
        arn = _machine(Account(running.endpoint))
        stack = _stack(running.endpoint, arn)
        _start(stack, arn, range(options.executions))
        with _served(running.endpoint, arn) as (address, process):
            pages = {"/runs": "n-", "/runs/Bench/n-0": "Third", "/runs?name=n-7": "n-7"}
            rows = [_page(address, path, text) for path, text in pages.items()]
            columns = ["page", "KB", "KB with its files", "median read, ms", "first picture, ms", "list or run, ms"]
            if options.stackport:
                rows += _stackport(options.stackport, running.endpoint, arn)
            pages_seen = views.table(f"Pages with {options.executions:,} executions", columns, rows)
            show("benchmarks.console", pages_seen, _live(stack, arn, address, process, options))


def _stack(endpoint: str, arn: str) -> Stack:
    return Stack(Session(region=emulator.REGION, keys=("test", "test")), endpoint, {"BenchArn": arn})


def _machine(account: Account) -> str:
    role, client = account.role("bench", may="*"), account.client("stepfunctions")
    made = client.create_state_machine(name="bench", definition=json.dumps(MACHINE), roleArn=role)
    return str(made["stateMachineArn"])


def _start(stack: Stack, arn: str, numbers: range) -> None:
    def start(number: int) -> None:
        stack.stepfunctions.start_execution(stateMachineArn=arn, name=f"n-{number}", input='{"order_id": "o-1"}')

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(start, numbers))
    running: Any = {"stateMachineArn": arn, "statusFilter": "RUNNING", "maxResults": 1}
    while stack.stepfunctions.list_executions(**running)["executions"]:
        time.sleep(1)


@contextmanager
def _served(endpoint: str, arn: str) -> Iterator[tuple[str, psutil.Process]]:
    """Run the console in its own process."""
    context = multiprocessing.get_context("spawn")
    told, telling = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(endpoint, arn, telling), daemon=True)
    process.start()
    try:
        yield told.recv(), psutil.Process(process.pid)
    finally:
        process.terminate()
        process.join(10)


def _serve(endpoint: str, arn: str, telling: Any) -> None:
    stack = _stack(endpoint, arn)
    server = Server(Settings(lambda: stack, hints.command), 0)
    telling.send(server.address)
    server.serve()


def _page(address: str, path: str, text: str) -> list[Any]:
    size = _read(address, path)[0]
    seconds = statistics.median(_read(address, path)[1] for _ in range(READS))
    return [path, f"{size / 1024:.1f}", *_visited(f"{address}{path}", text, f"{seconds * 1000:.0f}")]


def _read(address: str, path: str) -> tuple[int, float]:
    """Read a page. Returns bytes and seconds of the response."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    size = len(answer.read())
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status}")
    return size, time.perf_counter() - began


def _visited(url: str, text: str, read: str = "-") -> list[str]:
    """Medians for a browser without a cache: KB loaded; milliseconds to first contentful paint and to a text."""
    if not find_spec("playwright"):
        return ["-", read, "-", "-"]
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        visits = [_visit(browser, url, text) for _ in range(VISITS)]
        browser.close()
    size, painted, shown = (statistics.median(column) for column in zip(*visits, strict=True))
    return [f"{size / 1024:.1f}", read, f"{painted:.0f}", f"{shown:.0f}"]


def _visit(browser: Any, url: str, text: str) -> tuple[float, float, float]:
    paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    context, sizes = browser.new_context(), list[float]()
    page = context.new_page()
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    network.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(url)
    page.wait_for_function("text => document.body.innerText.includes(text)", arg=text)
    shown = page.evaluate("performance.now()")
    page.wait_for_function(paint)
    painted = page.evaluate(paint)
    # Later requests belong to the page, too.
    page.wait_for_timeout(2000)
    context.close()
    return sum(sizes), painted, shown


def _stackport(program: str, endpoint: str, arn: str) -> list[list[Any]]:
    """Measure StackPort's list of executions in the same way. StackPort has no address for one execution."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        named = {
            "STACKPORT_ENDPOINTS": f"local={endpoint}",
            "STACKPORT_DATA_DIR": folder,
            "AWS_REGION": emulator.REGION,
        }
        keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        others = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "AWS_"))}
        command = [program, "serve", "--port", str(port)]
        with (
            (Path(folder) / "log").open("w") as log,
            subprocess.Popen(command, env=others | named | keys, stdout=log, stderr=log) as process,
        ):
            try:
                _until_served(port)
                path = f"/resources/stepfunctions?machine={quote(arn, safe='')}"
                return [["StackPort: executions", "-", *_visited(f"http://127.0.0.1:{port}{path}", "n-")]]
            finally:
                process.terminate()


def _until_served(port: int) -> None:
    for _ in range(100):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError("StackPort did not start")


def _live(stack: Stack, arn: str, address: str, process: psutil.Process, options: argparse.Namespace) -> Table:
    """Memory and CPU of the console while runs arrive and tabs watch."""
    end, rows = time.monotonic() + options.minutes * 60, list[list[str]]()
    seen = [f"/runs/Bench/n-{number}" for number in range(WATCHERS - 1)]
    for path in ("/runs", *seen):
        _in_thread(partial(_watch, address, path))
    _in_thread(lambda: _arrive(stack, arn, options.executions, end))
    began, before = time.monotonic(), process.cpu_times()
    while time.monotonic() < end:
        time.sleep(SAMPLE_SECONDS)
        now = process.cpu_times()
        used = now.user + now.system - before.user - before.system
        rows.append([f"{time.monotonic() - began:.0f}", f"{process.memory_info().rss / 2**20:.1f}", f"{used:.1f}"])
    columns = ["seconds", "memory, MiB", "processor seconds"]
    title = f"{A_SECOND} runs a second, {WATCHERS} tabs"
    return views.table(title, columns, rows)


def _in_thread(run: Callable[[], object]) -> None:
    threading.Thread(target=run, daemon=True).start()


def _watch(address: str, path: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(address).netloc)
    connection.request("GET", f"/events?page={path}")
    answer = connection.getresponse()
    with suppress(OSError, http.client.HTTPException):
        while answer.readline():
            pass


def _arrive(stack: Stack, arn: str, number: int, end: float) -> None:
    while time.monotonic() < end:
        stack.stepfunctions.start_execution(stateMachineArn=arn, name=f"n-{number}", input="{}")
        number += 1
        time.sleep(1 / A_SECOND)


if __name__ == "__main__":
    main()
