"""Webhooks as an operator subscribes to them, and as a receiver gets them."""

import json
import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError
from typer.testing import CliRunner

from stepwise.cli.app import app
from stepwise.local.emulator import emulator
from stepwise.local.simulators.webhook_receiver.client import ReceiverClient
from stepwise.local.simulators.webhook_receiver.faults import Injection, Status
from stepwise.operations.stack import Stack
from tests.kit.belongings import RUN
from tests.kit.injection import eventually
from tests.kit.logs import all_logs

pytestmark = pytest.mark.local_only("read all of WebhooksTable, with the simulator as the receiver")

type CommandLine = Callable[..., tuple[int, str]]

SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")


@pytest.fixture
def receiver(running: emulator.Emulator) -> ReceiverClient:
    client = ReceiverClient(running.simulators["webhooks"])
    client.reset()
    return client


@pytest.fixture
def webhooks(stack_options: list[str]) -> CommandLine:
    def call(*arguments: str) -> tuple[int, str]:
        ended = CliRunner().invoke(app, ["webhooks", *arguments, *stack_options])
        problem = f"{type(ended.exception).__name__}: {ended.exception}" if ended.exception else ""
        return ended.exit_code, ended.output + problem

    return call


def verifies(secret: str, message: dict[str, Any]) -> bool:
    headers = {f"webhook-{name}": message[name] for name in ("id", "timestamp", "signature")}
    try:
        Webhook(secret).verify(message["body"], headers)
    except WebhookVerificationError:
        return False
    return True


def test_webhook_from_subscription_to_removal(webhooks: CommandLine, receiver: ReceiverClient, stack: Stack) -> None:
    tenant, name = f"{RUN[:30]}-{uuid.uuid4().hex[:8]}", uuid.uuid4().hex[:8]
    add = ("add", receiver.url(name, "?token=t0ken"), "--event", "command", "--tenant", tenant)
    (_, first), (_, second) = webhooks(*add), webhooks(*add)
    secret, webhook = SECRET.findall(first)[0], re.findall(rf"{tenant}/wh_\w+", first)[0]
    assert SECRET.findall(second) == [secret]
    assert "was subscribed before" in second
    receiver.trust(name, secret)
    assert webhooks("test", webhook)[0] == 0
    assert verifies(secret, receiver.messages(name)[-1])

    receiver.inject(Injection(Status(410), name, times=1))
    publish(stack, tenant)
    eventually(lambda: "DISABLED" in webhooks("list", "--tenant", tenant)[1])
    eventually(lambda: "evt_" in webhooks("list", "--tenant", tenant)[1])
    assert "t0ken" not in webhooks("list", "--tenant", tenant)[1]
    webhooks("enable", webhook)
    assert webhooks("resend", webhook, "--failed")[0] == 0
    (refused, accepted) = receiver.messages(name)[-2:]
    assert (refused["id"], refused["answered"], accepted["answered"]) == (accepted["id"], "Status 410", "accepted")
    assert json.loads(accepted["body"])["type"] == "command.finished"

    newer = SECRET.findall(webhooks("rotate", webhook)[1])[0]
    assert "secret: two are active" in webhooks("rotate", webhook)[1]
    webhook_id = webhook.partition("/")[2]
    rows = {row["sk"]: row for row in stack.rows("WebhooksTable")}
    version = rows[f"WEBHOOK#{webhook_id}"]["version"]
    held = stack.client("ssm").get_parameter(Name=f"{stack.outputs['WebhookSecrets']}/{webhook_id}.{version}")
    assert held["Parameter"]["Type"] == "SecureString"
    assert SECRET.findall(webhooks("rotate", webhook, "--finish")[1]) == [newer]

    kept = str(stack.rows("WebhooksTable")) + all_logs(stack)
    assert webhook.partition("/")[2] in kept
    assert ("t0ken" in kept, SECRET.search(kept)) == (False, None)
    assert webhooks("remove", webhook, "--yes")[0] == 0
    assert "nothing was left" in webhooks("remove", webhook, "--yes")[1]
    assert "InvalidWebhook: webhook_id: no such subscription" in webhooks("test", webhook)[1]


def publish(stack: Stack, tenant: str) -> None:
    notice = {"type": "command", "tenant_code": tenant, "id": "PRODUCT#tea-01@1", "attempt": 1, "status": "FINISHED"}
    stack.client("sns").publish(
        TopicArn=stack.outputs["NotificationTopicArn"],
        Message=json.dumps({**notice, "occurred_at": "2026-11-22T09:00:00+00:00", "data": {}}),
        MessageAttributes={"action": {"DataType": "String", "StringValue": "notification"}},
        MessageGroupId=tenant,
    )
