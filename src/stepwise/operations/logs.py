"""The functions' log lines about one order, from CloudWatch Logs, which the local stack has as well."""

import re
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from botocore.exceptions import ClientError

from idempotency.payloads import read_json
from ordering.definition import ORDER_SAGA

from .stack import Stack

_STEPS = [name for step in ORDER_SAGA.all_steps for name in (step.name, step.compensation)]
FUNCTIONS = (*_STEPS, "FinalizeOrder", "SweepOrders", "ReportOrders", "NotifyOrders")
"""Functions that log an order_id, named as in their log groups."""
# CloudWatch Logs allows five searches a second in some Regions.
_AT_ONCE, _POLL_SECONDS = 4, 2
# A line may arrive this late.
_LATE = timedelta(seconds=10)
# A function that serves many executions at once logs more than a page shows.
_MAX_READ = 2000


@dataclass(frozen=True, slots=True)
class Line:
    """A log line. fields: those of the JSON line; other text as `message`."""

    id: str
    at: datetime
    function: str
    fields: dict[str, Any]


def of_order(stack: Stack, name: str, order_id: str, since: datetime) -> list[Line]:
    """Return the lines about an order since then, oldest first. name: the root stack's name."""
    client = stack.client("logs")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(
            lambda function: list(_lines(client, f"/aws/lambda/{name}/{function}", order_id, since)), FUNCTIONS
        )
        # Lines of one moment stay in the order in which their function wrote them.
        return sorted((line for lines in found for line in lines), key=lambda line: line.at)


def follow(stack: Stack, name: str, order_id: str, since: datetime) -> Iterator[Sequence[Line]]:
    """Yield new lines, each once, until the caller has enough."""
    seen: set[str] = set()
    while True:
        begun = datetime.now(UTC)
        new = [line for line in of_order(stack, name, order_id, since) if line.id not in seen]
        seen.update(line.id for line in new)
        yield new
        since = max(since, begun - _LATE)
        time.sleep(_POLL_SECONDS)


def of_function(
    stack: Stack, group: str, since: datetime, until: datetime, word: str = "", last: int = 100
) -> list[Line]:
    """Return the last lines of a log group between two times, oldest first.

    word: one that a line must contain, if any.
    """
    found = _lines(stack.client("logs"), group, word, since, until)
    return list(deque(islice(found, _MAX_READ), last))


def _lines(client: Any, group: str, word: str, since: datetime, until: datetime | None = None) -> Iterator[Line]:
    whole = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
    more: Any = {"endTime": _milliseconds(until)} if until else {}
    if word:
        more["filterPattern"] = f'"{word}"'
    pages = client.get_paginator("filter_log_events").paginate(
        logGroupName=group, startTime=_milliseconds(since), **more
    )
    try:
        for event in (event for page in pages for event in page["events"]):
            if not word or whole.search(event["message"]):
                at = datetime.fromtimestamp(event["timestamp"] / 1000, UTC)
                # Two lines of one millisecond may lack an id of their own.
                identity = str(event.get("eventId") or f"{event['timestamp']}{event['message']}")
                yield Line(identity, at, group.rpartition("/")[2], _fields(event["message"]))
    except ClientError as error:
        # A function that never ran has no group on the local stack.
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def _fields(text: str) -> dict[str, Any]:
    try:
        document = read_json(text)
    except ValueError:
        document = None
    return document if isinstance(document, dict) else {"message": text.rstrip()}
