"""Imports of rows: speed, memory, bytes and costs: `python -m benchmarks.imports`. Prints as it goes.

Speed and memory are measured on a plain local stack, consumption on another one whose DynamoDB and S3 calls are
counted.
"""

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from rich.table import Table

from stepwise.cli import views
from stepwise.operations import imports
from stepwise.operations.imports import ImportView
from stepwise.operations.stack import Stack

from . import import_costs, import_memory
from .import_costs import TARGETS, Consumed, per_million
from .import_files import TENANT, csv_file, zip_file
from .results import show, size
from .stacks import Metered, metered, plain

MANY_ROWS, ZIP_FILES, ZIP_ROWS = 100_000, size(100, 2), size(50, 5)
# One standard execution of `command` per row: transitions without a retry, as docs/costs.md counts them.
STATES_OF_A_COMMAND = {"PRODUCT": 10, "data alone": 8}
_PRICES = Path(__file__).with_name("prices.json")
_SAY_EVERY = 10.0

out = views.console()


def main() -> None:
    chosen = _arguments()
    prices = json.loads(chosen.prices.read_text())["prices"]
    sizes = [*chosen.rows, *([MANY_ROWS] if chosen.all else [])]
    with plain() as on:
        stack = on.stack
        _import(stack, csv_file(200, "warm"), {})
        options = {"max_concurrency": chosen.concurrency}
        speeds = [_speed(stack, on.running.pid, rows, options) for rows in sizes]
        columns = ["rows", "seconds", "rows/s", "failed", "unprocessed", "largest worker, MB", "all workers, MB"]
        tables = [views.table(f"Imports, {chosen.concurrency} batches at once", columns, speeds)]
        tables += [_zip(stack, chosen.zip_files, chosen.zip_rows), _alone(on.running.endpoint, chosen.alone)]
    with metered() as at:
        show("benchmarks.imports", *tables, *_consumption(at, chosen.metered, chosen.concurrency, prices))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-imports OPTIONS=")
    parser.add_argument(
        "--rows", type=int, nargs="+", default=size([1_000, 10_000], [100]), help="sizes of the imports"
    )
    parser.add_argument("--all", action="store_true", help=f"also {MANY_ROWS:,} rows")
    parser.add_argument(
        "--alone", type=int, default=size(1_000_000, 500), help="rows for loader and finalize_parent_job alone"
    )
    parser.add_argument("--metered", type=int, default=size(2_000, 100), help="rows for what is consumed")
    parser.add_argument("--concurrency", type=int, default=4, help="batches at once")
    parser.add_argument("--zip-files", type=int, default=ZIP_FILES)
    parser.add_argument("--zip-rows", type=int, default=ZIP_ROWS, help="of each file of the ZIP")
    parser.add_argument("--prices", type=Path, default=_PRICES)
    return parser.parse_args()


def _speed(stack: Stack, pid: int, rows: int, options: Mapping[str, Any]) -> list[str]:
    data = csv_file(rows, f"s{rows}")
    began = time.perf_counter()
    with _memory(pid) as peak:
        seen = _import(stack, data, {"processing_mode": "STEP_FUNCTION", "options": options})
    seconds = time.perf_counter() - began
    failed, left = seen.count("failed_rows"), seen.count("unprocessed_rows")
    return [f"{rows:,}", f"{seconds:.1f}", f"{rows / seconds:.0f}", str(failed), str(left), *map("{:.0f}".format, peak)]


def _import(stack: Stack, data: bytes, fields: Mapping[str, Any], name: str = "products.csv") -> ImportView:
    """Run an import to its end, and print its progress."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_bytes(data)
        key = imports.upload(stack, file)
    made = imports.create(stack, {"tenant_code": TENANT, "type": "PRODUCT", "key": key, **fields})
    said = time.monotonic()
    for seen in imports.follow(stack, made):
        if time.monotonic() > said + _SAY_EVERY:
            said = time.monotonic()
            out.print(f"  {seen.count('processed_rows'):,} of {seen.count('total_rows'):,} rows")
    out.print(f"{seen.name}: {seen.made.status}", markup=False)
    return seen


@contextmanager
def _memory(pid: int) -> Iterator[list[float]]:
    """Peak resident memory, in MB, of this process's largest descendant and of all descendants together."""
    peak, over = [0.0, 0.0], threading.Event()

    def watch() -> None:
        while not over.wait(0.5):
            sizes = [0.0]
            for child in psutil.Process(pid).children(recursive=True):
                try:
                    sizes.append(child.memory_info().rss / 1e6)
                except psutil.NoSuchProcess:
                    continue
            peak[:] = [max(peak[0], *sizes), max(peak[1], sum(sizes))]

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def _zip(stack: Stack, files: int, rows: int) -> Any:
    data = zip_file(files, rows)
    began = time.perf_counter()
    seen = _import(stack, data, {}, "products.zip")
    seconds = time.perf_counter() - began
    figures = [[f"{files}", f"{rows:,}", str(seen.made.status), f"{seconds:.1f}", f"{files * rows / seconds:.0f}"]]
    return views.table("A ZIP", ["files", "rows of each", "status", "seconds", "rows/s"], figures)


def _alone(endpoint: str, rows: int) -> Any:
    names = {"load": "csv_loader", "finish": "finalize_parent_job"}
    figures = []
    for stage, one in import_memory.measured(endpoint, rows, out.print):
        numbers = [f"{one[name]:.0f}" for name in ("file", "peak", "before", "seconds")]
        figures.append([names[stage], f"{rows:,}", *numbers, f"{one['read']:.2f}"])
        out.print(f"  {names[stage]}: peak {one['peak']:.0f} MB")
    columns = ["alone", "rows", "file, MB", "peak, MB", "before, MB", "seconds", "bytes read / file"]
    return views.table("Loader and finalization, one row in 100 failed", columns, figures)


def _consumption(on: Metered, rows: int, concurrency: int, prices: Mapping[str, float]) -> Iterator[Table]:
    _import(on.stack, csv_file(100, "warm"), {"processing_mode": "STEP_FUNCTION"})
    import_costs.reset(on)
    direct = csv_file(min(rows, 1_000), "direct")
    _import(on.stack, direct, {"processing_mode": "DIRECT"})
    read = {"DIRECT": on.s3.received[import_costs.files_bucket(on)] / len(direct)}
    import_costs.reset(on)
    before, data = import_costs.invoked(on), csv_file(rows, "metered")
    fields = {"processing_mode": "STEP_FUNCTION", "options": {"max_concurrency": concurrency}}
    seen = _import(on.stack, data, fields)
    used = import_costs.consumed(on, rows, before, seen.made.key.import_id)
    read["STEP_FUNCTION"] = used.received / len(data)
    shown = [[mode, f"{times:.2f}"] for mode, times in read.items()]
    yield views.table("Bytes read from ImportsBucket by the functions", ["mode", "times the file"], shown)
    yield _units(used)
    yield _costs(used, prices)


def _units(used: Consumed) -> Any:
    tables = [*used.tables]
    rows = [[name, f"{used.units(name):.3f}"] for name in tables]
    alone = used.units(*(name for name in tables if name != "ProductsTable"))
    rows += [["data alone", f"{alone:.3f}"], ["PRODUCT", f"{used.units(*tables):.3f}"]]
    title = f"Write units a row, of {used.rows:,} rows that were created"
    return views.table(title, ["table", "write units"], rows)


def _costs(used: Consumed, prices: Mapping[str, float]) -> Any:
    items = per_million(used, prices)
    alone = {name: 0.0 if name.startswith(TARGETS) else cost for name, cost in items.items()}
    starts = import_costs.child_starts(used, prices)
    rows = [[name, f"{alone[name]:.4f}", f"{cost:.4f}"] for name, cost in items.items()]
    rows.append(["all", *(f"{sum(one.values()):.2f}" for one in (alone, items))])
    machine = sum(cost for name, cost in items.items() if name.startswith("Step Functions"))
    rows.append(["of it Step Functions", f"{machine:.4f}", f"{machine:.4f}"])
    rows.append(["if child starts are billed as transitions", *[f"{machine + starts:.4f}"] * 2])
    standard = [
        STATES_OF_A_COMMAND[kind] * import_costs.MILLION * prices["state_transition"]
        for kind in ("data alone", "PRODUCT")
    ]
    rows.append(["beside: states of one standard execution of `command` for each row", *map("{:.2f}".format, standard)])
    return views.table("A million rows", ["USD", "data alone", "PRODUCT"], rows)


if __name__ == "__main__":
    main()
