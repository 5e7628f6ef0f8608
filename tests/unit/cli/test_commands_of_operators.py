"""Commands that decide, count or replay: they ask, refuse and explain before anything is lost."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from approvals.state import Approval
from idempotency import LeaseStore, Unknown, Work
from jobs.running import RUN_JOB
from stepwise.local.emulator import emulator
from stepwise.local.emulator.emulator import Emulator
from stepwise.operations import approvals, user_imports, webhooks, work
from stepwise.operations.replay.failed import FailedRecords
from stepwise.operations.report import Line
from stepwise.operations.stack import Stack
from tests.kit.command_line import stepwise
from tests.unit.cli.test_order_views import Shop
from tests.unit.operations.test_recovery import NOW, ORDER, ORDER_ID
from webhooks.state import Delivery, Subscription, WebhookKey

CHARGE = Work("ChargeCard", unknown=Unknown.HOLD, duration=timedelta(seconds=8))
WEBHOOK, EVENT = "wh_0123456789abcdef01234567", f"evt_{'0' * 40}"
RESULT, OWN_RESULT = "manual/UserCreateResult_1.csv", "manual/UserCreateResult_1_i-1.csv"
BY = "arn:aws:iam::000000000000:user/ann"


@pytest.fixture
def shop() -> Iterator[Shop]:
    made = Shop()
    made.stack._clients.update(sts=SimpleNamespace(get_caller_identity=lambda: {"Arn": BY}))
    object.__setattr__(made.stack, "session", SimpleNamespace(client=lambda *_, **__: made.client))
    with mock.patch.object(Stack, "local", return_value=made.stack):
        yield made


# --- work ---


@pytest.fixture
def completed(shop: Shop) -> Shop:
    leases = LeaseStore(shop.client, shop.stack.outputs["IdempotencyTable"], clock=lambda: NOW)
    leases.run(CHARGE, "o-7", {}, lambda _: "ch_1", deadline=NOW + timedelta(seconds=9))
    return shop


@pytest.mark.parametrize("more", [("release",), ("resolve", "--result", '"ch_2"'), ("resolve", "--error", "E: no")])
@pytest.mark.parametrize(("answer", "decided"), [("n\n", 0), ("", 0), ("y\n", 1)])
def test_completed_work_is_decided_only_after_confirmation(
    completed: Shop, more: Any, answer: str, decided: int
) -> None:
    verb, *options = more
    ended = stepwise("work", verb, "o-7", "ChargeCard", "--reason", "ticket 1", *options, text=answer)

    assert len(work.record(completed.stack, "o-7", "ChargeCard").audit) == decided
    assert (ended.code == 0, "COMPLETED with" in ended.out + ended.err) == (bool(decided), True)


def test_yes_option_decides_completed_work_without_asking(completed: Shop) -> None:
    ended = stepwise("work", "release", "o-7", "ChargeCard", "--reason", "ticket 1", "--yes")

    assert (ended.code, len(work.record(completed.stack, "o-7", "ChargeCard").audit)) == (0, 1)


@pytest.mark.parametrize(("seconds", "told"), [(-9, True), (60, False)])
def test_work_of_unknown_outcome_is_shown_with_the_deciding_commands(shop: Shop, seconds: int, told: bool) -> None:
    now = datetime.now(UTC) + timedelta(seconds=seconds)
    leases = LeaseStore(shop.client, shop.stack.outputs["IdempotencyTable"], clock=lambda: now)
    leases.lease(RUN_JOB, "7", {}, deadline=now + timedelta(seconds=5)).acquire()
    shown = stepwise("work", "show", "7").out

    for verb in ("release", "resolve"):
        assert (f"./stepwise work {verb} 7 RunJob --reason WHY" in shown) is told


# --- approvals ---


@pytest.mark.parametrize(("hours", "told"), [(1, True), (-1, False)])
def test_overdue_approval_is_not_offered_for_a_decision(shop: Shop, hours: int, told: bool) -> None:
    due = (datetime.now(UTC) + timedelta(hours=hours)).isoformat()
    found = Approval({"approval_id": "a-1", "status": "WAITING", "due_at": due})
    with mock.patch.object(approvals, "view", return_value=found):
        shown = stepwise("approvals", "show", "a-1").out

    assert ("approvals approve a-1" in shown, "can no longer be decided" in shown) == (told, not told)


# --- webhooks ---


@pytest.mark.parametrize("status", ["ACTIVE", "DISABLED"])
def test_failing_webhooks_are_listed_with_commands_that_help(shop: Shop, status: str) -> None:
    key = WebhookKey("t1", WEBHOOK)
    fields = {"address": "https://a.example", "events": ["import"], "status": status}
    lost = {"event_id": EVENT, "type": "import.completed", "attempts": 1, "body": "{}", "failed_at": "2026-11-22"}
    with (
        mock.patch.object(webhooks, "subscriptions", return_value=[Subscription(key, fields)]),
        mock.patch.object(webhooks, "failed", return_value=[Delivery(key, {**lost, "last_outcome": "status 410"})]),
        mock.patch.object(webhooks, "send", return_value={"delivered": False, "outcome": "status 410"}),
    ):
        shown, resent = stepwise("webhooks", "list").out, stepwise("webhooks", "resend", f"t1/{WEBHOOK}", EVENT)

    assert f"./stepwise webhooks resend t1/{WEBHOOK} --failed" in shown
    assert (f"./stepwise webhooks enable t1/{WEBHOOK}" in shown) is (status == "DISABLED")
    assert resent.out == "Delivered 0 of 1.\nNot delivered: status 410\n"


# --- replay ---


def test_replay_of_a_missing_order_says_so(shop: Shop) -> None:
    ended = stepwise("replay", "--order-id", "nope")

    assert (ended.code != 0, "OrderNotFound: there is no order nope" in ended.err) == (True, True)


def test_dry_run_shows_the_changes(shop: Shop) -> None:
    shop.commit(ORDER, "ProcessOrder")
    ended = stepwise("replay", "--order-id", ORDER_ID, "--dry-run")

    assert ended.code == 0
    assert "would be replayed" in ended.out
    assert "fired" not in ended.out


def test_stuck_record_has_a_cause(shop: Shop) -> None:
    shop.write("OrdersTable", order_id={"S": "o-8"}, revision={"N": "1"}, created_at={"S": "2026-11-22T10:00:00+00:00"})
    record = {"eventName": "MODIFY", "dynamodb": {"Keys": {"order_id": {"S": "o-8"}}, "NewImage": {}}}
    trigger: Any = SimpleNamespace(
        table=shop.stack.outputs["OrdersTable"], budget=SimpleNamespace(wait=lambda: None, spend=lambda _: None)
    )
    records = FailedRecords(shop.client, None, "bucket", trigger, lambda *_: True, lambda _: None)
    records._record("arn:function", record, dry=False)

    ((found),) = records.stuck
    assert found.record == "o-8"
    assert found.cause.startswith("MalformedRecord: ")


# --- reports ---


@pytest.mark.parametrize(("status", "revenue"), [("Confirmed", 3000), ("Pending", 0), ("New", 0)])
def test_only_a_confirmed_order_is_revenue(status: str, revenue: int) -> None:
    assert Line(status, "JPY", 1, 3000).revenue == revenue


# --- imports of users ---


class _Imports:
    """Step Functions with one stopped import. written: the keys of results, by the state that wrote each."""

    def __init__(self, written: Mapping[str, str]) -> None:
        fields = {"ResultCsvFileCreate": ("result_csv_file_create", "key")}
        output: dict[str, Any] = {"count_csv_files": {"result": {"result_key": RESULT}}}
        self.events: list[Any] = [{"type": "Any"}]
        for state, key in written.items():
            name, field = fields.get(state, ("register_result", "result_key"))
            # A failed state is exited, too.
            output |= {name: {"result": {field: key}}} if key else {"error": {"Error": "States.Timeout"}}
            left = {"name": state, "output": json.dumps(output)}
            self.events.append({"type": "TaskStateExited", "stateExitedEventDetails": left})

    def describe_execution(self, **_: str) -> Any:
        return {"status": "ABORTED"}

    def get_paginator(self, _: str) -> Any:
        return SimpleNamespace(
            paginate=lambda reverseOrder, **_: [{"events": self.events[:: -1 if reverseOrder else 1]}]
        )


def test_failed_import_shows_its_file_and_the_command_to_resume(shop: Shop) -> None:
    given = {"input": '{"key": "manual/users/TestFile_20261122.csv"}', "startDate": NOW, "name": "i-1"}
    states = SimpleNamespace(describe_execution=lambda **_: {"status": "FAILED", "error": "InvalidHeader", **given})
    shop.stack._clients.update(stepfunctions=states)
    object.__setattr__(shop.stack, "outputs", {**shop.stack.outputs, "UserImportArn": "arn:stateMachine:i"})
    shown = stepwise("user-imports", "show", "i-1").out

    assert "manual/users/TestFile_20261122.csv" in shown
    assert "Correct the file, and import it again with ./stepwise import FILE" in shown


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ({}, ""),
        ({"ResultCsvFileCreate": ""}, ""),
        ({"ResultCsvFileCreate": RESULT}, RESULT),
        ({"ResultCsvFileCreate": OWN_RESULT}, OWN_RESULT),
        ({"ResultCsvFileCreate": RESULT, "RegisterResult": OWN_RESULT}, OWN_RESULT),
        ({"ResultCsvFileCreate": RESULT, "RegisterResult": ""}, RESULT),
    ],
    ids=str,
)
def test_stopped_import_shows_its_result(shop: Shop, written: Mapping[str, str], key: str) -> None:
    """A newer import of the file may own the usual key."""
    shop.stack._clients.update(stepfunctions=_Imports(written))
    outputs = {**shop.stack.outputs, "UserImportArn": "arn:stateMachine:i", "UsersBucket": "users"}
    object.__setattr__(shop.stack, "outputs", outputs)
    with mock.patch.object(user_imports, "start", return_value="i-1"), mock.patch.object(user_imports, "follow"):
        ended = stepwise("import", __file__)

    assert ended.code != 0
    assert "ABORTED" in ended.err
    assert re.findall(r"--retry-of (\S+)", ended.err) == ([key] if key else [])


def test_suggested_import_keeps_the_options_of_the_previous_one(shop: Shop) -> None:
    options = ("--instance-id", "b-1", "--encoding", "cp932")
    outputs = {**shop.stack.outputs, "UserImportArn": "arn:stateMachine:i", "UsersBucket": "users"}
    object.__setattr__(shop.stack, "outputs", outputs)
    ended = user_imports.Summary(
        "i-1", "a", validate_only=False, rows=2, run=2, succeeded=1, failed=1, result_key=RESULT, result_version_id="1"
    )
    given = {"input": json.dumps({"instance_id": "b-1", "encoding": "cp932"}), "startDate": NOW, "name": "i-1"}
    failed = SimpleNamespace(describe_execution=lambda **_: {"status": "FAILED", "error": "InvalidHeader", **given})
    with mock.patch.object(user_imports, "start", return_value="i-1"), mock.patch.object(user_imports, "follow"):
        with mock.patch.object(user_imports, "summary", return_value=ended):
            incomplete = stepwise("import", __file__, *options).out
        shop.stack._clients.update(stepfunctions=_Imports({"ResultCsvFileCreate": RESULT}))
        stopped = stepwise("import", __file__, "--validate-only", *options).err
    shop.stack._clients.update(stepfunctions=failed)
    shown = stepwise("user-imports", "show", "i-1").out

    again = f"import {__file__} --retry-of {RESULT} --instance-id b-1 --encoding cp932"
    assert incomplete.endswith(f"{again}\n")
    assert f"{again} --validate-only" in stopped
    assert "import FILE --instance-id b-1 --encoding cp932" in shown


# --- the local stack ---


@pytest.fixture
def emulators() -> Iterator[dict[int, Emulator]]:
    """Emulators by port, none of which is a process."""
    found: dict[int, Emulator] = {}

    def start(port: int, **_: Any) -> Emulator:
        return found.setdefault(port, Emulator(port, 1, 1.0))

    def serving() -> list[Emulator]:
        return [one for one in found.values() if not one.attached]

    with (
        mock.patch.object(emulator, "running", found.get),
        mock.patch.object(emulator, "start", start),
        mock.patch.object(emulator, "wait_until_ready"),
        mock.patch.object(emulator, "stop", lambda one: found.pop(one.port)),
        mock.patch.object(emulator, "serving", serving),
        mock.patch.object(
            emulator,
            "endpoints_beside",
            return_value={"gateway": "http://g", "cards": "http://c", "webhooks": "https://localhost:1"},
        ),
    ):
        yield found


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit(143)])
@pytest.mark.parametrize("before", [True, False])
def test_interrupted_start_leaves_no_emulator_of_its_own(
    emulators: dict[int, Emulator], stop: Any, before: bool
) -> None:
    if before:
        emulators[4999] = Emulator(4999, 1, 1.0)
    with (
        mock.patch("stepwise.local.simulators.webhook_receiver.client.parameters", return_value={}),
        mock.patch("stepwise.cli.stack_commands.deploy", side_effect=stop),
    ):
        ended = stepwise("start", "--port", "4999")

    assert (ended.code != 0, bool(emulators)) == (True, before)


def test_start_waits_for_an_emulator_that_another_start_is_starting(emulators: dict[int, Emulator]) -> None:
    emulators[4999] = Emulator(4999, 1, 1.0)
    late = emulator.LocalStackError("it did not answer")
    with (
        mock.patch.object(emulator, "endpoints_beside", return_value={}),
        mock.patch.object(emulator, "wait_until_ready", side_effect=late),
    ):
        ended = stepwise("start", "--port", "4999")

    assert (ended.code, ended.err) == (5, "LocalStackError: it did not answer\n")


def test_stop_names_the_stack_on_another_port(emulators: dict[int, Emulator]) -> None:
    emulators[4999] = Emulator(4999, 1, 1.0)
    told = stepwise("stop", "--port", "4998").out

    assert "stop --port 4999" in told
    assert emulators


def test_stop_everywhere_stops_stacks_started_by_make_up(emulators: dict[int, Emulator]) -> None:
    emulators |= {
        4997: Emulator(4997, 1, 1.0),
        4999: Emulator(4999, 1, 1.0),
        4998: Emulator(4998, 1, 1.0, attached=True),
    }
    told = stepwise("stop", "--everywhere").out

    assert list(emulators) == [4998]
    assert "Stopped the stack on port 4999." in told
