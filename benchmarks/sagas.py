"""Sagas per second through the local stack: `python -m benchmarks.sagas`. Prints a table."""

import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from stepwise.cli import views
from stepwise.operations import stock
from stepwise.operations.orders import ended, place
from stepwise.operations.stack import Stack

from .results import show, size
from .stacks import plain

ORDERS, CONCURRENCY, WARM_UP = size(200, 4), 8, size(40, 2)


def main() -> None:
    with plain() as on:
        stack = on.stack
        stock.seed(stack, {"tea-01": 10_000})
        _run(stack, "warm", WARM_UP)
        began = time.perf_counter()
        seconds = _run(stack, "timed", ORDERS)
        total = time.perf_counter() - began
    figures = [
        ["orders", str(ORDERS)],
        ["at once", str(CONCURRENCY)],
        ["sagas per second", f"{ORDERS / total:.1f}"],
        ["median saga", f"{statistics.median(seconds) * 1000:.0f} ms"],
        ["slowest saga", f"{max(seconds) * 1000:.0f} ms"],
    ]
    show("benchmarks.sagas", views.table("Sagas through the local stack, warm", ["figure", "value"], figures))


def _run(stack: Stack, prefix: str, count: int) -> list[float]:
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        return list(pool.map(lambda number: _saga(stack, f"{prefix}-{number}"), range(count)))


def _saga(stack: Stack, order_id: str) -> float:
    began = time.perf_counter()
    order = {
        "order_id": order_id,
        "customer_id": "c-7",
        "currency": "JPY",
        "items": [{"sku": "tea-01", "quantity": 1, "unit_price": 1500}],
        "payment": {"method": "card", "token": "tok_visa"},
    }
    place(stack, order)
    execution = ended(stack, order_id)
    if execution.status != "SUCCEEDED":
        raise RuntimeError(f"{order_id}: {execution.status} {execution.error}")
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
