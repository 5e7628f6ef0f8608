"""The operator's view of an order: path, cause, attempts, money and times, whatever its rows contain."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import pytest
from botocore.exceptions import ClientError

from stepwise.cli.order_views import path
from stepwise.cli.views import moment
from stepwise.operations import money, orders
from stepwise.operations.causes import message_of
from stepwise.operations.executions import execution
from stepwise.operations.orders import view, watched
from stepwise.operations.recovery import OrderNotFound, failing, needing_attention, recover
from stepwise.operations.sagas import saga_of
from stepwise.operations.stack import Stack
from tests.kit.command_line import stepwise
from tests.kit.project import ROOT
from tests.unit.operations.test_recovery import NOW, ORDER, ORDER_ID, Desk
from tests.unit.pauses import replace_sleep

LONG_AGO = NOW - timedelta(days=2)
TEXTS = {"errorMessage": "the gateway answered 503", "errorType": "GatewayUnavailable"}


def failed(error: str, message: str) -> dict[str, Any]:
    cause = json.dumps({"errorMessage": message, "errorType": error})
    return {"type": "TaskFailed", "taskFailedEventDetails": {"error": error, "cause": cause}}


def entered(name: str) -> dict[str, Any]:
    return {"type": "TaskStateEntered", "stateEnteredEventDetails": {"name": name}}


TRIED, SUCCEEDED, LEFT = {"type": "TaskScheduled"}, {"type": "TaskSucceeded"}, {"type": "TaskStateExited"}


def state(name: str, *attempts: dict[str, Any], left: bool = True) -> list[dict[str, Any]]:
    tries = [event for attempt in attempts for event in (TRIED, attempt)]
    return [entered(name), *tries, *([LEFT] if left else [])]


@dataclass
class Executions:
    """A Step Functions client. found: described executions by machine and name, each with its events."""

    found: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def put(self, machine: str, name: str, status: str, *events: Any, **more: Any) -> None:
        moments = [
            {"id": at + 1, **event, "timestamp": NOW + timedelta(milliseconds=at)} for at, event in enumerate(events)
        ]
        self.found[machine, name] = {
            "status": status,
            "input": json.dumps(ORDER),
            "startDate": NOW,
            "stopDate": None if status == "RUNNING" else NOW + timedelta(seconds=1.5),
            "events": moments,
        } | more

    def describe_execution(self, *, executionArn: str) -> Any:
        machine, _, name = executionArn.rpartition(":")
        if (machine, name) not in self.found:
            raise ClientError({"Error": {"Code": "ExecutionDoesNotExist"}}, "DescribeExecution")
        return self.found[machine, name]

    def describe_state_machine(self, *, stateMachineArn: str) -> Any:
        name = {"saga": "order-saga", "recovery": "order-recovery"}[stateMachineArn]
        return {"definition": (ROOT / "statemachine" / f"{name}.asl.json").read_text()}

    def get_paginator(self, _: str) -> Any:
        return self

    def paginate(self, *, executionArn: str = "", stateMachineArn: str = "", **_: Any) -> list[Any]:
        if executionArn:
            return [{"events": self.describe_execution(executionArn=executionArn)["events"]}]
        listed = [{"name": name, **one} for (machine, name), one in self.found.items() if machine == stateMachineArn]
        return [{"executions": sorted(listed, key=lambda one: one["startDate"], reverse=True)}]


class Shop(Desk):
    """The desk, with executions that have a history."""

    def __init__(self) -> None:
        super().__init__()
        self.executions = Executions()
        self.stack._clients.update(stepfunctions=self.executions)

    def write(self, table: str, **row: Any) -> None:
        self.client.put_item(TableName=self.stack.outputs[table], Item=row)


@pytest.fixture
def shop() -> Iterator[Shop]:
    made = Shop()
    with mock.patch.object(Stack, "local", return_value=made.stack):
        yield made


UNAVAILABLE = failed("GatewayUnavailable", "the gateway answered 503")
OUT_OF_STOCK = [
    *state("ProcessOrder", SUCCEEDED),
    *state("ProcessPayment", UNAVAILABLE, UNAVAILABLE, SUCCEEDED),
    *state("ReserveInventory", failed("OutOfStock", "pot-01 has 1, ordered 2")),
    *state("ReleaseInventory", SUCCEEDED),
    *state("ProcessRefund", *[UNAVAILABLE] * 7),
]


def test_path_is_one_line(shop: Shop) -> None:
    shop.executions.put("saga", ORDER_ID, "FAILED", *OUT_OF_STOCK, error="OutOfStock")
    shown = path(execution(shop.stack, ORDER_ID)).plain

    assert shown == (
        "✓ ProcessOrder ✓ ProcessPayment (GatewayUnavailable x2) ✗ ReserveInventory OutOfStock "
        "↩ ReleaseInventory ✗ ProcessRefund GatewayUnavailable x7"
    )


def test_path_of_a_running_saga_ends_with_the_retried_state(shop: Shop) -> None:
    tries = state("ProcessPayment", UNAVAILABLE, UNAVAILABLE, left=False)
    shop.executions.put("saga", ORDER_ID, "RUNNING", *state("ProcessOrder", SUCCEEDED), *tries)
    seen = execution(shop.stack, ORDER_ID)

    assert path(seen).plain == "✓ ProcessOrder … ProcessPayment GatewayUnavailable x2"
    assert str(seen.why) == "GatewayUnavailable x2: the gateway answered 503"


def test_path_of_a_stopped_saga_says_where_it_stopped(shop: Shop) -> None:
    events = [*state("ProcessOrder", SUCCEEDED), entered("ProcessPayment"), TRIED]
    shop.executions.put("saga", ORDER_ID, "ABORTED", *events)

    assert path(execution(shop.stack, ORDER_ID)).plain == "✓ ProcessOrder ✗ ProcessPayment ABORTED"


def test_show_includes_saga_and_recovery_with_causes_times_and_money(shop: Shop) -> None:
    shop.commit(ORDER, "ProcessOrder", "ProcessPayment")
    shop.executions.put("saga", ORDER_ID, "FAILED", *OUT_OF_STOCK, error="OutOfStock")
    shop.executions.put("recovery", ORDER_ID, "RUNNING", *state("ProcessRefund", UNAVAILABLE, left=False))
    shown = stepwise("show", ORDER_ID).out

    for words in (
        "OutOfStock",
        "GatewayUnavailable x7: the gateway answered 503",
        "recovery: … ProcessRefund GatewayUnavailable",
        "took 1.500 s",
        "still running",
        moment(NOW),
        money.shown(ORDER_TOTAL, ORDER["currency"]),
    ):
        assert words in shown, words


ORDER_TOTAL = sum(item["quantity"] * item["unit_price"] for item in ORDER["items"])


@pytest.mark.parametrize("lacking", ["items", "total", "currency", "created_at", "status"])
def test_malformed_row_is_shown_as_malformed(shop: Shop, lacking: str) -> None:
    row = {"items": {"L": []}, "total": {"N": "1"}, "currency": {"S": "JPY"}, "created_at": {"S": "never"}}
    row |= {"order_id": {"S": ORDER_ID}, "status": {"S": "New"}, "standing": {"SS": ["ProcessOrder"]}}
    row[lacking] = {"NULL": True} if lacking == "items" else {"S": "x"}
    shop.write("OrdersTable", **(row if lacking == "items" else {name: row[name] for name in row if name != lacking}))
    shop.write("IdempotencyTable", pk={"S": f"{ORDER_ID}#ProcessOrder"})
    ended = stepwise("show", ORDER_ID)

    assert (ended.code, ended.error) == (0, None)
    assert "malformed row" in ended.out or lacking == "status"


def test_watch_ends_once_the_order_is_final(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.commit(ORDER, "ProcessOrder")
    running = state("ProcessPayment", UNAVAILABLE, left=False)
    shop.executions.put("saga", ORDER_ID, "RUNNING", *running)

    def later(_: float) -> None:
        shop.executions.put("saga", ORDER_ID, "FAILED", *running, error="GatewayUnavailable")
        shop.undo_order(ORDER)

    replace_sleep(monkeypatch, orders, by=later)
    ended = stepwise("show", ORDER_ID, "--watch")

    assert (ended.code, ended.out.splitlines()[0]) == (0, "… ProcessPayment GatewayUnavailable")
    assert "Pending" in ended.out
    assert len(list(watched(shop.stack, ORDER_ID))) == 1


# --- an order whose execution has another name ---


def _stands(shop: Shop) -> None:
    shop.commit(ORDER, "ProcessOrder", "ProcessPayment")
    row = {"order_id": {"S": ORDER_ID}}
    shop.client.update_item(
        TableName=shop.stack.outputs["OrdersTable"],
        Key=row,
        UpdateExpression="SET unsettled = :id",
        ExpressionAttributeValues={":id": {"S": ORDER_ID}},
    )


@pytest.fixture
def listed(shop: Shop) -> Shop:
    """Put the order in the index of orders that are not finalized."""
    _stands(shop)
    rows = mock.Mock(return_value=[{"order_id": ORDER_ID, "unsettled": ORDER_ID}])
    object.__setattr__(shop.stack, "rows", rows)
    return shop


def test_running_order_under_another_name_needs_no_attention(listed: Shop) -> None:
    listed.executions.put("saga", "by-hand", "RUNNING", *state("ProcessPayment", UNAVAILABLE, left=False))

    assert needing_attention(listed.stack) == []


DENIED = failed("UnexpectedFailure", "AccessDeniedException of dynamodb:UpdateItem on PaymentsTable-1")


@pytest.mark.parametrize(
    ("machine", "failures", "listed_as"),
    [
        ("saga", [UNAVAILABLE], ""),
        ("saga", [UNAVAILABLE] * 2, "GatewayUnavailable x2"),
        # The saga does not retry it: a recovery follows.
        ("saga", [DENIED], ""),
        ("recovery", [UNAVAILABLE], ""),
        ("recovery", [UNAVAILABLE] * 2, "GatewayUnavailable x2"),
        ("recovery", [DENIED], "UnexpectedFailure: AccessDenied"),
    ],
)
def test_repeatedly_failing_state_is_listed_while_it_is_retried(
    listed: Shop, machine: str, failures: list[Any], listed_as: str
) -> None:
    """No alarm goes off before the recovery gives up, a quarter of an hour later."""
    listed.executions.put(machine, ORDER_ID, "RUNNING", *state("ProcessRefund", *failures, left=False))
    if machine == "recovery":
        listed.executions.put("saga", ORDER_ID, "FAILED", *OUT_OF_STOCK, error="OutOfStock")

    assert needing_attention(listed.stack) == []
    found = failing(listed.stack)
    assert len(found) == bool(listed_as)
    for one in found:
        assert str(one.cause).startswith(listed_as)
        assert "ProcessRefund fails, next try by" in one.problem
        assert one.retrying
        assert one.retrying.next_by - NOW < timedelta(seconds=30)


@pytest.mark.parametrize(("minutes", "needed"), [(1, False), (11, True)])
def test_order_about_to_be_confirmed_needs_no_attention(listed: Shop, minutes: int, needed: bool) -> None:
    ended = datetime.now(UTC) - timedelta(minutes=minutes)
    listed.executions.put("saga", ORDER_ID, "SUCCEEDED", stopDate=ended)

    assert bool(needing_attention(listed.stack)) is needed


def test_failed_order_under_another_name_is_listed_with_cause_and_recovered(listed: Shop) -> None:
    listed.executions.put("saga", "by-hand", "FAILED", *OUT_OF_STOCK, error="OutOfStock")
    (found,) = needing_attention(listed.stack)

    assert (found.saga, str(found.cause)) == ("FAILED", "GatewayUnavailable x7: the gateway answered 503")
    assert not found.document_lost
    with mock.patch.object(Executions, "start_execution", create=True) as start:
        assert recover(listed.stack, ORDER_ID) == ORDER_ID
    assert json.loads(start.call_args.kwargs["input"]) == ORDER


def test_order_without_its_execution_needs_its_document(listed: Shop) -> None:
    listed.executions.put("saga", "too-old", "FAILED", startDate=LONG_AGO)
    listed.executions.put("saga", "of-another", "FAILED", input=json.dumps({"order_id": "o-9"}))
    (found,) = needing_attention(listed.stack)

    assert found.document_lost
    with pytest.raises(OrderNotFound, match="--file"):
        recover(listed.stack, ORDER_ID)


def test_search_examines_a_hundred_executions(listed: Shop) -> None:
    for number in range(150):
        listed.executions.put("saga", f"e-{number}", "FAILED", input="{}", startDate=NOW - timedelta(seconds=number))
    listed.executions.put("saga", "by-hand", "FAILED", startDate=NOW - timedelta(hours=1))
    describe = mock.Mock(side_effect=listed.executions.describe_execution)
    with mock.patch.object(listed.executions, "describe_execution", describe):
        assert saga_of(listed.stack, ORDER_ID, NOW.isoformat()) is None
    assert describe.call_count == 101


def test_show_finds_an_order_under_another_name_too(shop: Shop) -> None:
    shop.commit(ORDER, "ProcessOrder")
    shop.executions.put("saga", "by-hand", "RUNNING", *state("ProcessOrder", SUCCEEDED))

    found = view(shop.stack, ORDER_ID).execution
    assert found
    assert found.name == "by-hand"


# --- texts ---


@pytest.mark.parametrize(
    ("amount", "currency", "words"),
    [
        (3000, "JPY", "3,000 JPY"),
        (5100, "USD", "51.00 USD"),
        (-5, "EUR", "-0.05 EUR"),
        (1234567, "KWD", "1,234.567 KWD"),
        (250, "XTS", "250 XTS"),
    ],
)
def test_money_has_its_currency_and_decimals(amount: int, currency: str, words: str) -> None:
    assert money.shown(amount, currency) == words


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        (json.dumps(TEXTS), "the gateway answered 503"),
        (json.dumps({"Error": "GatewayUnavailable", "Cause": json.dumps(TEXTS)}), "the gateway answered 503"),
        (json.dumps({"Error": "States.Timeout"}), ""),
        (json.dumps({"Error": "States.Runtime", "Cause": "no such path"}), "no such path"),
        ("stopped by hand", "stopped by hand"),
        ("", ""),
    ],
)
def test_cause_is_a_sentence(cause: str, message: str) -> None:
    assert message_of(cause) == message


def test_time_is_local_with_milliseconds() -> None:
    at = datetime(2026, 11, 22, 18, 3, 4, 56_789, UTC)
    assert moment(at).startswith(f"{at.astimezone():%Y-%m-%d %H:%M:%S}.056 ")
    assert moment("never") == "never"
