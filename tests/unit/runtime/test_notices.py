"""Notices of ends: built from the records of each table, and published."""

import copy
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from commands import handlers as commands
from imports import handlers as imports
from ordering import handlers as orders
from runtime.notices import Notices
from tasks import handlers as tasks
from tests.kit.project import ROOT, read_json
from tests.unit.runtime.test_handler import Context

TOPIC = "arn:aws:sns:us-east-1:000000000000:NotificationTopic"
# (module, event, notice)
SAMPLES: list[tuple[ModuleType, str, dict[str, Any]]] = [
    (
        orders,
        "ordering/notify_orders",
        {
            "type": "order",
            "tenant_code": None,
            "id": "o-1001",
            "status": "Confirmed",
            "occurred_at": "2026-11-21T00:00:02.500000+00:00",
            "attempt": 1,
            "data": {"currency": "JPY", "total": 3000},
        },
    ),
    (
        commands,
        "commands/notify_commands",
        {
            "type": "command",
            "tenant_code": "tenant1",
            "id": "PRODUCT#tea-01@1",
            "status": "FAILED",
            "occurred_at": "2026-11-21T09:00:02+00:00",
            "attempt": 1,
            "data": {"type": "PRODUCT", "sk": "PRODUCT#tea-01", "version": 1, "error": "InvalidCommand"},
        },
    ),
    (
        imports,
        "imports/notify_imports",
        {
            "type": "import",
            "tenant_code": "tenant1",
            "id": "0123456789abcdef0123456789abcdef",
            "status": "COMPLETED_WITH_FAILURES",
            "occurred_at": "2026-11-21T09:00:05+00:00",
            "attempt": 1,
            "data": {
                "type": "PRODUCT",
                "validated": False,
                "total_rows": 2,
                "unprocessed_rows": 0,
                "processed_rows": 2,
                "succeeded_rows": 1,
                "failed_rows": 1,
                "created_rows": 1,
                "updated_rows": 0,
                "unchanged_rows": 0,
            },
        },
    ),
    (
        tasks,
        "tasks/notify_tasks",
        {
            "type": "task",
            "tenant_code": "tenant1",
            "id": "task-1",
            "status": "COMPLETED_WITH_FAILURES",
            "occurred_at": "2026-11-22T09:00:05+00:00",
            "attempt": 1,
            "data": {"task_type": "checksum-object", "total_items": 2, "completed_items": 1, "failed_items": 1},
        },
    ),
]

every_context = pytest.mark.parametrize(("module", "event", "notice"), SAMPLES, ids=[event for _, event, _ in SAMPLES])


class Topic:
    """The part of SNS that notices call."""

    def __init__(self) -> None:
        self.published: list[dict[str, Any]] = []
        self.down = False

    def publish(self, **message: Any) -> None:
        if self.down:
            raise EndpointConnectionError(endpoint_url="https://sns")
        self.published.append(message)

    def notices(self) -> list[Any]:
        return [json.loads(one["Message"]) for one in self.published]


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Any:
    own: Any = Topic()
    for module, *_ in SAMPLES:
        monkeypatch.setattr(module, "notices", lambda: Notices(own, TOPIC))
    return own


def handled(module: ModuleType, *records: Any) -> list[str]:
    """The sequence numbers of the failed records."""
    name = next(name for name in vars(module) if name.startswith("notify_"))
    answer = getattr(module, name)({"Records": list(records)}, Context())
    return [one["itemIdentifier"] for one in answer["batchItemFailures"]]


def sample(event: str) -> Any:
    (record,) = read_json(ROOT / "events" / f"{event}.json")["Records"]
    return record


def changed(event: str, change: Callable[[Any], object]) -> Any:
    record = copy.deepcopy(sample(event))
    change(record["dynamodb"])
    return record


@every_context
def test_outcome_is_published_to_the_notice_queue(
    topic: Topic, module: ModuleType, event: str, notice: dict[str, Any]
) -> None:
    assert handled(module, sample(event)) == []
    (message,) = topic.published

    assert json.loads(message["Message"]) == notice
    assert message["TopicArn"] == TOPIC
    assert message["MessageAttributes"] == {"action": {"DataType": "String", "StringValue": "notification"}}
    assert message["MessageGroupId"] == (notice["tenant_code"] or notice["type"])


@every_context
def test_redelivered_record_publishes_the_same(topic: Topic, module: ModuleType, event: str, notice: Any) -> None:
    handled(module, sample(event), sample(event))

    assert topic.notices() == [notice, notice]


@every_context
def test_unpublishable_notice_is_redelivered_with_the_following_records(
    topic: Topic, module: ModuleType, event: str, notice: Any
) -> None:
    topic.down = True

    assert handled(module, sample(event), sample(event)) == [sample(event)["dynamodb"]["SequenceNumber"]]


@pytest.mark.parametrize(
    ("module", "event", "change"),
    [
        (orders, "ordering/notify_orders", lambda images: images["NewImage"]["status"].update(S="New")),
        (orders, "ordering/notify_orders", lambda images: images["OldImage"]["status"].update(S="Confirmed")),
        (orders, "ordering/notify_orders", lambda images: images.pop("NewImage")),
        (commands, "commands/notify_commands", lambda images: images["NewImage"]["status"].update(S="finish:STARTED")),
        (commands, "commands/notify_commands", lambda images: images["NewImage"]["mode"].update(S="sync")),
        (commands, "commands/notify_commands", lambda images: images.pop("NewImage")),
        (imports, "imports/notify_imports", lambda images: images["NewImage"]["status"].update(S="PROCESSING")),
        (imports, "imports/notify_imports", lambda images: images.update(OldImage=images["NewImage"])),
        (imports, "imports/notify_imports", lambda images: images.pop("NewImage")),
        (tasks, "tasks/notify_tasks", lambda images: images["NewImage"]["status"].update(S="PROCESSING")),
        (tasks, "tasks/notify_tasks", lambda images: images["NewImage"]["kind"].update(S="task_item")),
        (tasks, "tasks/notify_tasks", lambda images: images.update(OldImage=images["NewImage"])),
    ],
)
def test_change_without_an_end_is_not_published(
    topic: Topic, module: ModuleType, event: str, change: Callable[[Any], object]
) -> None:
    assert handled(module, changed(event, change)) == []
    assert topic.notices() == []


def test_retried_command_that_fails_again_has_another_notice(topic: Topic) -> None:
    event = "commands/notify_commands"
    handled(commands, sample(event), changed(event, lambda images: images["NewImage"]["attempt"].update(N="2")))

    assert [one["attempt"] for one in topic.notices()] == [1, 2]


@pytest.mark.parametrize("status", ["FINISHED", "SKIPPED"])
def test_finished_or_skipped_command_is_published(topic: Topic, status: str) -> None:
    handled(
        commands,
        changed("commands/notify_commands", lambda images: images["NewImage"]["status"].update(S=f"finish:{status}")),
    )

    assert [one["status"] for one in topic.notices()] == [status]
