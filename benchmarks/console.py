"""The console with many executions: bytes and milliseconds of its pages, memory while they are live.

`python -m benchmarks.console`; `--executions 10000 --minutes 15`. With Playwright, which .venv-browser has, it also
measures when Chromium shows the first picture. Prints tables.
"""

import argparse
import http.client
import json
import multiprocessing
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import psutil

from cli import hints, views
from console.server import Server
from console.settings import Settings
from local.emulator import emulator
from operations.session import Session
from operations.stack import Stack
from tests.kit.ministack import Account

MACHINE = {
    "StartAt": "First",
    "States": {
        **{name: {"Type": "Pass", "Next": after} for name, after in (("First", "Second"), ("Second", "Third"))},
        "Third": {"Type": "Wait", "Seconds": 1, "End": True},
    },
}
PARTS = ("/static/console.css", "/static/pages.css", "/static/console.js", "/static/morph.js", "/static/icon.svg")
A_SECOND, WATCHERS, READS, SAMPLE_SECONDS = 2, 10, 20, 30
CHROMIUM = "/usr/bin/chromium"


def main() -> None:
    chosen = argparse.ArgumentParser(description=__doc__)
    chosen.add_argument("--executions", type=int, default=10_000)
    chosen.add_argument("--minutes", type=float, default=15)
    options = chosen.parse_args()
    with emulator.attached() as running:
        arn = _machine(Account(running.endpoint))
        stack = _stack(running.endpoint, arn)
        _start(stack, arn, range(options.executions))
        with _served(running.endpoint, arn) as (address, process):
            pages = {"/runs": PARTS, "/runs/Bench/n-0": PARTS, "/runs?name=n-7": PARTS}
            rows = [_page(address, path, parts) for path, parts in pages.items()]
            columns = ["page", "KB", "KB with its files", "median read, ms", "first picture, ms"]
            views.console().print(views.table(f"Pages with {options.executions:,} executions", columns, rows))
            _live(stack, arn, address, process, options)


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
    """The console in a process of its own."""
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


def _page(address: str, path: str, parts: tuple[str, ...]) -> list[Any]:
    sizes = [_read(address, one)[0] for one in (path, *parts)]
    seconds = statistics.median(_read(address, path)[1] for _ in range(READS))
    kilobytes = [f"{size / 1024:.1f}" for size in (sizes[0], sum(sizes))]
    return [path, *kilobytes, f"{seconds * 1000:.0f}", _first_picture(f"{address}{path}")]


def _read(address: str, path: str) -> tuple[int, float]:
    """Bytes and seconds of one answer."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    size = len(answer.read())
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status}")
    return size, time.perf_counter() - began


def _first_picture(url: str) -> str:
    """The median of the browser's first contentful paint."""
    if not find_spec("playwright"):
        return "-"
    from playwright.sync_api import sync_playwright

    paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        found = []
        for _ in range(5):
            page = browser.new_page()
            page.goto(url)
            page.wait_for_function(paint)
            found.append(page.evaluate(paint))
            page.close()
        browser.close()
    return f"{statistics.median(found):.0f}"


def _live(stack: Stack, arn: str, address: str, process: psutil.Process, options: argparse.Namespace) -> None:
    """Memory and processor of the console while runs arrive and tabs watch."""
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
    views.console().print(views.table(title, columns, rows))


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
