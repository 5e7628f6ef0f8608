"""Webhooks to receivers that fail, hang and lie: none is lost, and none arrives under two ids."""

import json
import os
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator

import pytest

from stepwise.local.emulator import emulator
from stepwise.local.simulators.webhook_receiver.client import ReceiverClient
from stepwise.local.simulators.webhook_receiver.faults import Drop, Endless, Hang, Injection, Status
from stepwise.operations import webhooks
from stepwise.operations.functions import call
from stepwise.operations.stack import Row, Stack
from tests.kit.belongings import RUN

# `make webhooks-test` makes 1,000.
DELIVERIES = int(os.environ.get("DELIVERIES", "50"))
SECONDS = 300 + DELIVERIES
RECEIVERS = [f"receiver-{number}" for number in range(5)]
METADATA = {"Location": "https://169.254.169.254/latest/meta-data/"}
FAULTS = [
    Injection(fault, probability=chance, seed=number)
    for number, (fault, chance) in enumerate(
        [
            (Status(500), 0.15),
            (Status(429, {"Retry-After": "60"}), 0.05),
            (Status(302, METADATA), 0.05),
            (Endless(307, METADATA), 0.03),
            (Drop(), 0.1),
            (Hang(30), 0.01),
            (Endless(), 0.02),
        ]
    )
]
# Statuses that the sender treats as accepted.
ACCEPTED = {"accepted", "Endless 200"}


@pytest.fixture
def receiver(running: emulator.Emulator) -> Iterator[ReceiverClient]:
    client = ReceiverClient(running.simulators["webhooks"])
    client.reset()
    yield client
    client.reset()


@pytest.mark.timeout(3000)
def test_no_delivery_is_lost_or_gets_a_second_id(stack: Stack, receiver: ReceiverClient) -> None:
    tenant = f"{RUN[:30]}-{uuid.uuid4().hex[:8]}"
    for name in RECEIVERS:
        made = webhooks.subscribe(stack, tenant, receiver.url(name, "?token=t0ken"), ["command"])
        receiver.trust(name, made.secret)
    receiver.inject(*FAULTS)
    began = time.monotonic()
    numbers = range(DELIVERIES // len(RECEIVERS))
    for number in [*numbers, *numbers[::10]]:
        _publish(stack, tenant, number)
    rows = _drained(stack, tenant, len(numbers) * len(RECEIVERS))

    messages = receiver.messages()
    ids = {(row["webhook_id"], row["event_id"]) for row in rows}
    arrived = Counter((one["name"], one["id"]) for one in messages)
    accepted = {(one["name"], one["id"]) for one in messages if one["answered"] in ACCEPTED}
    subjects = {(one["name"], json.loads(one["body"])["data"]["id"]) for one in messages}
    answers = Counter(one["answered"] for one in messages)
    sys.stdout.write(
        f"{len(rows)} deliveries, {len(messages)} messages in {time.monotonic() - began:.0f} s: {answers}\n"
    )
    assert Counter(row["status"] for row in rows) == {"DELIVERED": len(numbers) * len(RECEIVERS)}
    assert len(ids) == len(rows) == len(arrived) == len(subjects)
    assert set(arrived) == accepted
    assert all(one["verified"] for one in messages)
    assert receiver.ledger()["at_once"] == 1
    assert len(messages) > len(rows)


def _publish(stack: Stack, tenant: str, number: int) -> None:
    """Publish as a context does; a redelivered stream record publishes again."""
    notice = {"type": "command", "tenant_code": tenant, "id": f"PRODUCT#tea-{number}@1", "attempt": 1}
    notice |= {"status": "FINISHED", "occurred_at": "2026-11-22T09:00:00+00:00", "data": {}}
    stack.client("sns").publish(
        TopicArn=stack.outputs["NotificationTopicArn"],
        Message=json.dumps(notice),
        MessageAttributes={"action": {"DataType": "String", "StringValue": "notification"}},
        MessageGroupId=tenant,
    )


def _drained(stack: Stack, tenant: str, expected: int) -> list[Row]:
    """Wait until all deliveries have ended. Shortens pauses between attempts, except those being sent. Returns them."""
    deadline = time.monotonic() + SECONDS
    while True:
        rows = [
            row for row in stack.rows("WebhooksTable") if row["pk"] == f"TENANT#{tenant}" and row["kind"] == "delivery"
        ]
        waiting = [row for row in rows if row["status"] == "WAITING"]
        if (len(rows) == expected and not waiting) or time.monotonic() > deadline:
            return rows
        for row in waiting:
            _hasten(stack, row)
        call(stack, "SweepWebhooks", {}, {})


def _hasten(stack: Stack, row: Row) -> None:
    if "owner" in row:
        return
    client = stack.dynamodb
    try:
        client.update_item(
            TableName=stack.outputs["WebhooksTable"],
            Key={name: {"S": row[name]} for name in ("pk", "sk")},
            UpdateExpression="SET next_try_at = :now",
            ConditionExpression="next_try_at = :seen",
            ExpressionAttributeValues={":now": {"S": "2026-01-01T00:00:00+00:00"}, ":seen": {"S": row["next_try_at"]}},
        )
    except client.exceptions.ConditionalCheckFailedException:
        # A sweep by schedule was first.
        return
