"""Secrets Manager in this process: a real client, answered by MiniStack without a server."""

import uuid
from functools import cache
from typing import Any

import boto3
import pytest
from botocore.config import Config
from ministack.services import secretsmanager

from runtime import secrets
from tests.kit.engines import in_process


@cache
def client() -> Any:
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    made = session.client("secretsmanager", config=Config(retries={"total_max_attempts": 1}))
    made.meta.events.register_last(
        "before-send.secrets-manager",
        lambda request, **_: in_process.answered(secretsmanager.handle_request, request),
    )
    return made


def new_secret(value: str) -> str:
    """The ARN of a new secret."""
    return str(client().create_secret(Name=f"secret-{uuid.uuid4().hex}", SecretString=value)["ARN"])


def use(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let deployed code read secrets from here. Returns a live list of the ARNs that it reads."""
    read: list[str] = []

    class Noting:
        def get_secret_value(self, *, SecretId: str) -> Any:
            read.append(SecretId)
            return client().get_secret_value(SecretId=SecretId)

    monkeypatch.setattr(secrets, "client", lambda _: Noting())
    return read
