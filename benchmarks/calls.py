"""Compares the cost of one protected call with Powertools: DynamoDB calls, write units, latency.

Usage: `python -m benchmarks.calls`. Each variant writes one business row; the bare variant writes nothing else. They
take turns, on one client and one table.
"""

import logging
import statistics
import sys
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import boto3
from botocore.config import Config
from rich.table import Table

from idempotency import BusinessError, Lease, LeaseStore, StateConflict, Step, StepStore, Unknown, Work
from stepwise.cli import views
from stepwise.local.emulator import emulator
from tests.kit.engines import dynamodb_local

from . import packages
from .results import show, size

# DynamoDB Local runs on a JVM, which compiles hot code only after some hundred calls.
ROUNDS, WARM_UP = size(300, 2), size(200, 1)
_RECORDS, _ROWS = "records", "rows"
_NEW: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(pk)"}
_WORK = Work("Send", unknown=Unknown.RUN_AGAIN)
_INSIDE = Work("Book", unknown=Unknown.NEVER)

type Call = Callable[[str], Any]


class Refused(BusinessError):
    """The error of the failing variant."""


@dataclass
class Wire:
    """Counts a client's calls, write units and failed calls since `reset`. on: whether it counts."""

    client: Any
    on: bool = True
    calls: int = 0
    units: float = 0.0
    # A failed condition costs as much as the write, but DynamoDB does not say how much.
    refused: int = 0

    def __post_init__(self) -> None:
        events = self.client.meta.events
        events.register("provide-client-params.dynamodb", self._ask)
        events.register("after-call.dynamodb", self._count)

    def reset(self) -> None:
        self.calls, self.units, self.refused = 0, 0.0, 0

    def _ask(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        if self.on and "ReturnConsumedCapacity" in model.input_shape.members:
            params["ReturnConsumedCapacity"] = "TOTAL"

    def _count(self, http_response: Any, parsed: dict[str, Any], **_: Any) -> None:
        self.calls += 1
        self.refused += http_response.status_code >= 400
        consumed = parsed.get("ConsumedCapacity", [])
        for one in consumed if isinstance(consumed, list) else [consumed]:
            self.units += one.get("CapacityUnits", 0.0)


@dataclass
class Figures:
    """Measured figures. seconds: duration of each timed call. calls, units, refused: per call."""

    seconds: list[float] = field(default_factory=list)
    calls: int = 0
    units: float = 0.0
    refused: int = 0

    @property
    def median(self) -> float:
        return statistics.median(self.seconds) * 1000

    @property
    def least(self) -> float:
        return min(self.seconds) * 1000


def main() -> None:
    (site,) = packages.ENVIRONMENT.glob("lib/python*/site-packages")
    # After our own packages, which take precedence.
    sys.path.append(str(site))
    logging.disable()
    tables = []
    try:
        for engine, serving in {"the local stack": _local_stack, "DynamoDB Local": dynamodb_local.serving}.items():
            with serving() as endpoint:
                tables.append(_table(engine, _measured(endpoint)))
    except dynamodb_local.Unavailable as unavailable:
        sys.stdout.write(f"not measured on DynamoDB Local: {unavailable}\n")
    finally:
        sys.path.remove(str(site))
        logging.disable(logging.NOTSET)
    show("benchmarks.calls", *tables)


@contextmanager
def _local_stack() -> Iterator[str]:
    with emulator.attached() as running:
        yield running.endpoint


def _measured(endpoint: str) -> dict[tuple[str, str], Figures]:
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=emulator.REGION)
    settings = Config(retries={"mode": "standard", "total_max_attempts": 1})
    client: Any = session.client("dynamodb", endpoint_url=endpoint, config=settings)
    _make_tables(client)
    wire, figures = Wire(client), defaultdict[tuple[str, str], Figures](Figures)
    variants = _variants(client)
    for number in range(WARM_UP + ROUNDS):
        for (case, name), (prepare, call) in variants.items():
            key = str(uuid.uuid4())
            prepare(key)
            wire.reset()
            # Timed calls do not ask for consumed capacity, because deployed code does not.
            wire.on = number < WARM_UP
            began = time.perf_counter()
            call(key)
            seconds = time.perf_counter() - began
            one = figures[case, name]
            if wire.on:
                one.calls, one.units, one.refused = wire.calls, wire.units, wire.refused
            else:
                one.seconds.append(seconds)
    return figures


def _make_tables(client: Any) -> None:
    for name, attributes in {_RECORDS: ["pk", "listed"], _ROWS: ["pk"]}.items():
        indexes = [
            {
                "IndexName": attribute,
                "KeySchema": [{"AttributeName": attribute, "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
            for attribute in attributes[1:]
        ]
        client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in attributes],
            **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
        )


def _variants(client: Any) -> dict[tuple[str, str], tuple[Call, Call]]:
    """Map case and name to the setup and the timed call."""
    from .handlers.calls_on_powertools import protected

    powertools, failing_powertools = protected(client, records=_RECORDS, rows=_ROWS)
    steps, leases = StepStore(client, _RECORDS), LeaseStore(client, _RECORDS)

    def bare(key: str) -> None:
        client.put_item(**_row(key))

    def step(key: str) -> Any:
        now = datetime.now(UTC)
        write = {"Put": _row(key) | _NEW}
        return steps.commit(Step(key, "Pay", {"order_id": key}, "request", now), [write], {"order_id": key})

    def lease(key: str) -> Any:
        return leases.run(_WORK, key, {"order_id": key}, lambda _: work(key), deadline=soon())

    def work(key: str) -> dict[str, str]:
        bare(key)
        return {"order_id": key}

    def failing_step(key: str) -> None:
        with suppress(StateConflict):
            step(key)

    def failing_lease(key: str) -> None:
        def refuse(_: Any) -> None:
            raise Refused

        with suppress(Refused):
            leases.run(_WORK, key, {"order_id": key}, refuse, deadline=soon())

    def nothing(_: str) -> None:
        return None

    fresh: dict[str, Call] = {
        "bare PutItem": bare,
        "bare transaction": partial(_transaction, client),
        "step": step,
        "lease": lease,
        "lease, one transaction": partial(_lease_with_write, leases),
        "Powertools": powertools,
    }
    failing = {"lease": failing_lease, "Powertools": failing_powertools}
    return {
        **{("fresh", name): (nothing, call) for name, call in fresh.items()},
        **{("duplicate", name): (call, call) for name, call in fresh.items() if "bare" not in name},
        # The row exists already.
        ("failing", "step"): (bare, failing_step),
        **{("failing", name): (nothing, call) for name, call in failing.items()},
        **{("failing, again", name): (call, call) for name, call in failing.items()},
    }


def _lease_with_write(leases: LeaseStore, key: str) -> Any:
    def book(lease: Lease) -> None:
        lease.complete({"order_id": key}, writes=[{"Put": _row(key) | _NEW}])

    return leases.run(_INSIDE, key, {"order_id": key}, book, deadline=soon())


def _row(key: str) -> dict[str, Any]:
    return {"TableName": _ROWS, "Item": {"pk": {"S": key}, "amount": {"N": "3000"}}}


def _transaction(client: Any, key: str) -> None:
    """Write a record and a row atomically, with the minimum of code."""
    record = {"TableName": _RECORDS, "Item": {"pk": {"S": key}}}
    client.transact_write_items(TransactItems=[{"Put": record | _NEW}, {"Put": _row(key) | _NEW}])


def soon() -> datetime:
    return datetime.now(UTC) + timedelta(seconds=15)


def _table(engine: str, figures: dict[tuple[str, str], Figures]) -> Table:
    bare = figures["fresh", "bare PutItem"].median
    rows = []
    for (case, name), one in figures.items():
        beside = figures.get((case, "Powertools"), one).median
        units = f"{one.units:g}" + (f" + {one.refused} refused" if one.refused else "")
        rows.append(
            [
                case,
                name,
                str(one.calls),
                units,
                f"{one.median:.2f} ms",
                f"{one.least:.2f} ms",
                f"{one.median / bare:.2f}",
                f"{one.median / beside:.2f}",
            ]
        )
    columns = ["call", "variant", "DynamoDB calls", "write units", "median", "least", "of bare", "of Powertools"]
    return views.table(f"One call on {engine}, {ROUNDS} rounds", columns, rows)


if __name__ == "__main__":
    main()
