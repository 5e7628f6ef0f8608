"""The pure parts of the pages: the display of rows, and the commands of buttons."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from stepwise.console import attention, facts, import_pages, keys, reports
from stepwise.console.approvals import run_of
from stepwise.console.cache import Kept
from stepwise.operations.inbox import Concern
from stepwise.operations.report import Line
from stepwise.operations.stack import Stack

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)


def concern(context: str, own: str, *see: str) -> Concern:
    return Concern(context, own, "a problem", "a cause", see)


@pytest.mark.parametrize(
    ("see", "changes"),
    [
        (("recover", "o-1"), [("recover-order", {"order_id": "o-1"})]),
        (("recover", "o-1", "--file", "ORDER.json"), []),
        (("applications", "recover", "a-1"), [("recover-application", {"application_id": "a-1"})]),
        (
            ("commands", "retry", "t/P#1", "--reason", "WHY"),
            [("retry-command", {"key": "t/P#1"}), ("skip-command", {"key": "t/P#1"})],
        ),
        (
            ("commands", "rebuild", "catalog", ("--key", "t/P#1")),
            [("rebuild-target", {"target": "catalog", "key": "t/P#1"})],
        ),
        (("queues", "redrive", "Failures"), [("redrive-queue", {"queue": "Failures"})]),
        (("replay", ("--failed",)), [("replay-failed", {})]),
        (("work", "show", "job-1"), []),
        (("imports", "show", "t/1"), []),
    ],
)
def test_concern_has_the_buttons_of_its_command(see: tuple[str, ...], changes: Any) -> None:
    found = attention.buttons_of(concern("any", "x", *see))

    assert [(button.change, dict(button.parameters)) for button in found] == changes


@pytest.mark.parametrize(
    ("context", "own", "page"),
    [
        ("orders", "o-1", "/orders/o-1"),
        ("applications", "a 1", "/applications/a%201"),
        ("approvals", "account-opening.a-1.review", "/approvals/account-opening.a-1.review"),
        ("commands", "t/PRODUCT#p/1", "/commands/t/PRODUCT%23p%2F1"),
        ("imports", "t/0123", "/imports/t/0123"),
        ("work", "o-1#ChargeCard", "/leases/o-1"),
        ("user-imports", "manual-1", "/runs/UserImport/manual-1"),
        ("queues", "Failures", ""),
        ("orders", "", ""),
    ],
)
def test_concern_links_to_its_page(context: str, own: str, page: str) -> None:
    assert attention.page_of(concern(context, own)) == page


def test_row_fields_are_shown_in_readable_form() -> None:
    row = {
        "total": Decimal(3000),
        "currency": "USD",
        "items": [{"sku": "tea-01", "quantity": Decimal(2), "unit_price": Decimal(1500)}],
        "standing": {"b", "a"},
        "options": {"duplicates": "last"},
        "nothing": None,
    }
    shown = dict(facts.facts(row, ("total", "items", "standing", "options", "nothing", "absent")))

    assert shown == {
        "total": "30.00 USD",
        "items": "2 x tea-01",
        "standing": "a, b",
        "options": "duplicates=last",
        "nothing": "",
    }


@pytest.mark.parametrize("value", ["a lot", None, [], {"S": "x"}])
def test_invalid_amount_is_shown_verbatim(value: object) -> None:
    assert facts.amount(value, "JPY") == str(value)


def test_import_rate_gives_the_time_left() -> None:
    going = import_pages.pace(200, 1000, NOW, NOW + timedelta(seconds=10))

    assert going is not None
    assert (going.rows, going.left) == (20, timedelta(seconds=40))
    assert import_pages.pace(0, 1000, NOW, NOW + timedelta(seconds=10)) is None
    assert import_pages.pace(5, 0, NOW, NOW) is None


@pytest.mark.parametrize(
    ("standing", "kind"),
    [
        ("done", "good"),
        ("runs", "busy"),
        ("waits for 3", "none"),
        ("dead: blocks the key", "bad"),
        ("dead: blocks the key at its turn, waits for 1", "bad"),
    ],
)
def test_version_has_the_color_of_its_status(standing: str, kind: str) -> None:
    assert keys.kind_of(standing) == kind


def test_report_sums_revenue_by_currency() -> None:
    lines = [Line("Confirmed", "JPY", 2, 3000), Line("Pending", "JPY", 1, 500), Line("Confirmed", "USD", 1, 100)]

    assert [(one.currency, one.orders, one.amount) for one in reports.sums(lines)] == [
        ("JPY", 3, 3000),
        ("USD", 1, 100),
    ]


def test_execution_belongs_to_the_machine_of_its_arn() -> None:
    session: Any = None
    stack = Stack(session, None, {"TaskArn": "arn:aws:states:r:1:stateMachine:task", "TasksTable": "tasks"})

    assert run_of(stack, "arn:aws:states:r:1:execution:task:a-1") == ("Task", "a-1")
    assert run_of(stack, "arn:aws:states:r:1:execution:foreign:a-1") == ("", "")


@pytest.mark.parametrize(("aws", "reads"), [(True, 2), (False, 4)])
def test_on_aws_an_answer_is_cached_until_something_changes(aws: bool, reads: int) -> None:
    read: list[object] = []
    kept = Kept(lambda one: [read.append(one)])
    seen: Any = SimpleNamespace(settings=SimpleNamespace(aws=aws, stack_name="stepwise"))
    for _ in range(3):
        kept.get(seen)
    kept.forget()
    kept.get(seen)

    assert len(read) == reads
