"""Reads, time and memory of a user import: `python -m benchmarks.user_import`. Prints three tables."""

import csv
import io
import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from idempotency import LeaseStore
from stepwise.cli import views
from stepwise.local.simulators.connect.remote_control import RemoteControl
from stepwise.operations import user_imports
from stepwise.operations.stack import Stack
from user_import.bucket import Bucket, Source
from user_import.connect import Connect
from user_import.creation import Creation
from user_import.errors import TooManyRows
from user_import.files import Files
from user_import.requests import RowTask
from user_import.user import ProfileNames

from .results import show, size
from .stacks import plain

SIZES = size((100, 1_000, 3_000), (5, 10))
ROWS_AT_CONNECTS_RATE, RATE, BURST = size(200, 7), 2, 5
MANY_ROWS = size(1_000_000, 1_000)
HEADER = "No.,username,default_password,first_name,last_name\n"
DEFAULTS = ProfileNames("Agent", "Basic Routing Profile")
PREFIX = "TestFile_"


@dataclass
class Traffic:
    """Number of calls to S3, and bytes of files received."""

    requests: int = 0
    received: int = 0

    def counted(self, client: Any) -> Any:
        client.meta.events.register("after-call.s3", self._count)
        return client

    def _count(self, model: Any, parsed: Any, **_: Any) -> None:
        self.requests += 1
        if model.name == "GetObject":
            self.received += parsed["ContentLength"]


def main() -> None:
    with plain() as on:
        connect = RemoteControl(on.running.simulators["connect"])
        connect.change(activation_seconds=1)
        show("benchmarks.user_import", _reading(on.stack), _pace(on.stack, connect), _memory(on.stack))


def _file(rows: int) -> bytes:
    lines = (f"{n},user.{n:07},Passw0rd{n:07},First{n:07},Last{n:07}\n" for n in range(1, rows + 1))
    return "".join(itertools.chain([HEADER], lines)).encode()


def _reading(stack: Stack) -> Any:
    rows = [_read(stack, count) for count in SIZES]
    columns = ["rows", "file", "read", "times the file", "requests", "each row reads all", "times the file"]
    return views.table("Bytes read from S3", columns, rows)


def _read(stack: Stack, rows: int) -> list[str]:
    name, data = stack.outputs["UsersBucket"], _file(rows)
    source = Bucket(stack.client("s3"), name).put("manual/TestFile_20260101.csv", data, {})
    traffic = Traffic()
    bucket = Bucket(traffic.counted(stack.session.client("s3", endpoint_url=stack.endpoint)), name)
    _import_by_pointers(bucket, source, rows)
    naive = Traffic()
    _import_by_scanning(
        Bucket(naive.counted(stack.session.client("s3", endpoint_url=stack.endpoint)), name), source, rows
    )
    return [
        f"{rows:,}",
        f"{len(data):,}",
        f"{traffic.received:,}",
        f"{traffic.received / len(data):.2f}",
        f"{traffic.requests:,}",
        f"{naive.received:,}",
        f"{naive.received / len(data):,.0f}",
    ]


def _import_by_pointers(bucket: Bucket, source: Source, rows: int) -> None:
    """Read everything that an import reads, from Initialize to the last row, without creating users."""
    files = Files(bucket, PREFIX, rows)
    files.check_start(files.chosen(source.key, None), DEFAULTS)
    found = files.count(source, DEFAULTS)
    unused = cast(Any, None)
    creation = Creation(bucket, cast(Connect, unused), cast(LeaseStore, unused), DEFAULTS)
    deadline = datetime.now(UTC) + timedelta(hours=1)
    for pointer in found.pointers:
        creation.run(
            RowTask("benchmark", source, source.key, found.columns, pointer, None, None, validate_only=True), deadline
        )


def _import_by_scanning(bucket: Bucket, source: Source, rows: int) -> None:
    """Read as common samples do: each row downloads the file and searches for its line."""
    for number in range(1, rows + 1):
        text = io.StringIO(b"".join(bucket.stream(source)).decode(), newline="")
        next(itertools.islice(csv.DictReader(text), number - 1, None))


def _pace(stack: Stack, connect: RemoteControl) -> Any:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "TestFile_20260102.csv"
        file.write_text(HEADER + "1,first.of.all,Passw0rd,First,Last\n")
        _imported(stack, file)
        file.write_bytes(_file(ROWS_AT_CONNECTS_RATE))
        connect.clear_requests()
        seconds, ended = _timed(lambda: _imported(stack, file))
    calls = connect.requests("CreateUser")
    limit = (ROWS_AT_CONNECTS_RATE - BURST) / RATE
    figures = [
        ["rows", str(ended.rows)],
        ["created", str(ended.succeeded)],
        ["the rate's own limit", f"{limit:.1f} s"],
        ["the import, from start to end", f"{seconds:.1f} s"],
        ["times the limit", f"{seconds / limit:.3f}"],
        ["calls of CreateUser, throttled ones included", str(len(calls))],
    ]
    return views.table(
        f"{ROWS_AT_CONNECTS_RATE} rows at {RATE} calls a second, burst {BURST}", ["figure", "value"], figures
    )


def _imported(stack: Stack, file: Path) -> user_imports.Summary:
    name = user_imports.start(stack, file)
    for _ in user_imports.follow(stack, name):
        pass
    return user_imports.summary(stack, name)


def _timed[R](call: Callable[[], R]) -> tuple[float, R]:
    began = time.perf_counter()
    answer = call()
    return time.perf_counter() - began, answer


def _memory(stack: Stack) -> Any:
    data = _file(MANY_ROWS)
    source = Bucket(stack.client("s3"), stack.outputs["UsersBucket"]).put("manual/TestFile_20260103.csv", data, {})
    command = [sys.executable, "-m", "benchmarks.user_import", str(stack.endpoint), source.key, source.version_id]
    counted = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    figures = [
        ["rows", f"{MANY_ROWS:,}"],
        ["file", f"{len(data) / 1e6:.0f} MB"],
        ["peak memory of the process", f"{counted[0]} MB"],
        ["of it before the first byte", f"{counted[1]} MB"],
        ["time", f"{counted[2]} s"],
    ]
    return views.table("Counting a file that is too long", ["figure", "value"], figures)


def _count(endpoint: str, key: str, version_id: str) -> None:
    stack = Stack.local(endpoint)
    files = Files(Bucket(stack.client("s3"), stack.outputs["UsersBucket"]), PREFIX, SIZES[-1])
    before = _peak()
    seconds, _ = _timed(lambda: _refused(files, Source(key, version_id)))
    sys.stdout.write(f"{_peak():.0f} {before:.0f} {seconds:.1f}\n")


def _refused(files: Files, source: Source) -> None:
    try:
        files.count(source, DEFAULTS)
    except TooManyRows:
        return
    raise AssertionError("the file was not too long")


def _peak() -> float:
    """Peak memory in MB. `getrusage` would report the parent's peak if that was larger when the program began."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024 / 1e6


def _started(arguments: Iterable[str]) -> None:
    given = list(arguments)
    if given:
        _count(*given)
    else:
        main()


if __name__ == "__main__":
    _started(sys.argv[1:])
