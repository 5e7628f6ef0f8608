"""Webhooks without a stack: the table, the endpoints, and scripted receivers."""

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from idempotency.codec import to_value
from runtime.json_documents import parse_json
from stepwise.operations.stack import plain
from tests.kit.deployed_stack import Stack
from webhooks.delivering import Deliveries, Notifying
from webhooks.endpoints import Endpoints
from webhooks.errors import NotSent
from webhooks.event import Notice
from webhooks.requests import parse_notice
from webhooks.sending import Answer
from webhooks.state import Status, SubscriptionStatus, WebhookKey
from webhooks.sweep import Sweep
from webhooks.table import WebhooksTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TENANT = "tenant1"
SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
START = datetime(2026, 11, 22, 9, tzinfo=UTC)
LIFETIME = timedelta(days=90)
NOTICE = (
    '{"type": "command", "tenant_code": "tenant1", "id": "PRODUCT#tea-01@2", "attempt": 1, "status": "FINISHED",'
    ' "occurred_at": "2026-11-22T08:59:58+00:00", "data": {"version": 2}}'
)
# A receiver's reaction to a message: an answer, or NotSent after it got the message.
OK, LOST = Answer(200, 0.01), NotSent("no answer in time")


def notice_of(text: str) -> Notice:
    """A parsed message of the queue."""
    return parse_notice(parse_json(text))


def new_table(client: "DynamoDBClient") -> str:
    """The name of a new table, with the template's schema."""
    name = f"webhooks-{uuid.uuid4().hex}"
    client.create_table(**{**_schema(), "TableName": name})
    return name


@cache
def _schema() -> dict[str, Any]:
    (table,) = (one for one in Stack().tables() if one["TableName"] == "WebhooksTable")
    return table


@dataclass
class Receiver:
    """Messages and responses of a receiver: the entries of `script` in turn, then the last one for good."""

    script: Sequence[Answer | Exception] = (OK,)
    messages: list[tuple[str, str, str]] = field(default_factory=list)

    def send(self, url: str, headers: dict[str, str], body: str) -> Answer:
        self.messages.append((url, headers["webhook-id"], body))
        answer = self.script[min(len(self.messages), len(self.script)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass
class WebhookWorld:
    """One table, with a tenant's subscriptions. client: of DynamoDB."""

    client: "DynamoDBClient"
    now: datetime = START
    receiver: Receiver = field(init=False)
    endpoints: Endpoints = field(init=False)

    def __post_init__(self) -> None:
        self.table_name = new_table(self.client)
        parameters = SimpleNamespace(get_parameter=self._parameter)
        self.endpoints = Endpoints(lambda: parameters, "/stepwise/webhooks", lambda: self.now.timestamp())
        self.receiver = Receiver()

    def deliveries(self) -> Deliveries:
        table = WebhooksTable(self.client, self.table_name)
        return Deliveries(table, self.endpoints, self.receiver, LIFETIME, lambda: self.now)

    @staticmethod
    def _parameter(Name: str, **_: Any) -> dict[str, Any]:
        url = f"https://hooks.example.com/{Name.rpartition('/')[2]}"
        return {"Parameter": {"Value": json.dumps({"url": url, "secrets": [SECRET]})}}

    def subscribe(
        self, events: Sequence[str] = ("command",), tenant_code: str | None = TENANT, **values: Any
    ) -> WebhookKey:
        """Store a subscription as the first releases did, without a version of its parameter."""
        key = WebhookKey(tenant_code, f"wh_{uuid.uuid4().hex[:24]}")
        own = {
            **key.row,
            "kind": "webhook",
            "webhook_id": key.webhook_id,
            "status": SubscriptionStatus.ACTIVE.value,
            "events": list(events),
            "created_at": self.now.isoformat(),
            **values,
        }
        self.client.put_item(
            TableName=self.table_name, Item={name: to_value(value, fractions=True) for name, value in own.items()}
        )
        return key

    def notify(self, notice: Notice | None = None) -> int:
        """Run the queue's function."""
        return Notifying(self.deliveries()).notify(notice or notice_of(NOTICE))

    def sweep(self) -> dict[str, int]:
        return Sweep(self.deliveries()).run(lambda: True)

    def drain(self) -> None:
        """Sweep whenever something is due, to the end of all retries."""
        for waiting in iter(self._next_try, None):
            self.now = max(self.now, waiting)
            self.sweep()

    def rows(self, kind: str = "delivery") -> list[dict[str, Any]]:
        """The rows of a kind, as Python values."""
        found = map(plain, self.client.scan(TableName=self.table_name, ConsistentRead=True)["Items"])
        return [row for row in found if row["kind"] == kind]

    def _next_try(self) -> datetime | None:
        waiting = (row["next_try_at"] for row in self.rows() if row["status"] == Status.WAITING)
        return min(map(datetime.fromisoformat, waiting), default=None)

    def problems(self) -> Iterator[str]:
        """The violated invariants, once nothing is due."""
        rows, sent = self.rows(), self.receiver.messages
        if len(rows) != len(self.rows("webhook")):
            yield "a delivery is missing, or there are two"
        if len({(message, body) for _, message, body in sent}) > 1:
            yield "two ids, or two bodies"
        for row in rows:
            yield from self._problems_of(row)

    def _problems_of(self, row: dict[str, Any]) -> Iterator[str]:
        accepted = self._accepted(row["webhook_id"])
        if row["status"] == Status.DELIVERED and not accepted:
            yield "delivered, but nothing was accepted"
        if row["status"] == Status.FAILED and "failed_at" not in row:
            yield "failed, but not listed"
        if "owner" in row or "next_try_at" in row or "expires_at" not in row:
            yield "not at its end"

    def _accepted(self, webhook_id: str) -> bool:
        sent = [url for url, *_ in self.receiver.messages]
        answers = [self.receiver.script[min(number, len(self.receiver.script) - 1)] for number in range(len(sent))]
        return any(
            url.endswith(webhook_id) and isinstance(answer, Answer) and answer.accepted
            for url, answer in zip(sent, answers, strict=True)
        )
