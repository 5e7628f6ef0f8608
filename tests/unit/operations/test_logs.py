"""The log lines of an order, of all functions, by time: CloudWatch Logs by moto."""

import json
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pytest

from stepwise.operations import logs
from stepwise.operations.stack import Stack
from tests.unit.pauses import replace_sleep

DAY = datetime.now(UTC) - timedelta(days=1)


@pytest.fixture
def stack(aws: Any) -> Stack:
    made = Stack(aws, None, {})
    for function in ("ProcessOrder", "FinalizeOrder"):
        group = f"/aws/lambda/stepwise/{function}"
        made.client("logs").create_log_group(logGroupName=group)
        made.client("logs").create_log_stream(logGroupName=group, logStreamName="one")
    return made


def log(stack: Stack, function: str, seconds: int, text: str) -> None:
    at = int((datetime.now(UTC) + timedelta(seconds=seconds)).timestamp() * 1000)
    stack.client("logs").put_log_events(
        logGroupName=f"/aws/lambda/stepwise/{function}",
        logStreamName="one",
        logEvents=[{"timestamp": at, "message": text}],
    )


def line(order_id: str, message: str) -> str:
    return json.dumps({"level": "INFO", "message": message, "order_id": order_id})


def told(stack: Stack, order_id: str, since: datetime = DAY) -> list[tuple[str, str]]:
    found = logs.of_order(stack, "stepwise", order_id, since)
    return [(one.function, one.fields["message"]) for one in found]


def test_lines_of_all_functions_are_sorted_by_time(stack: Stack) -> None:
    log(stack, "FinalizeOrder", -1, line("o-1", "confirmed"))
    log(stack, "ProcessOrder", -5, line("o-1", "started"))
    log(stack, "ProcessOrder", -4, line("o-1", "done"))

    assert told(stack, "o-1") == [("ProcessOrder", "started"), ("ProcessOrder", "done"), ("FinalizeOrder", "confirmed")]


@pytest.mark.parametrize("other", ["o-10", "xo-1", "o-1-b", "o-1_b"])
def test_other_order_with_a_similar_id_is_left_out(stack: Stack, other: str) -> None:
    log(stack, "ProcessOrder", -5, line(other, "of another order"))

    assert told(stack, "o-1") == []


def test_plain_text_and_earlier_lines_are_shown(stack: Stack) -> None:
    log(stack, "ProcessOrder", -500, line("o-1", "early"))
    log(stack, "ProcessOrder", -5, "Task timed out for o-1")

    assert told(stack, "o-1", datetime.now(UTC) - timedelta(seconds=60)) == [("ProcessOrder", "Task timed out for o-1")]


def test_following_yields_each_line_once(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    log(stack, "ProcessOrder", -5, line("o-1", "started"))
    replace_sleep(monkeypatch, logs, by=lambda _: log(stack, "ProcessOrder", 1, line("o-1", "done")))
    seen = islice(logs.follow(stack, "stepwise", "o-1", DAY), 2)

    assert [[one.fields["message"] for one in lines] for lines in seen] == [["started"], ["done"]]
