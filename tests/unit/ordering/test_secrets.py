"""A secret is read once and never shown, and an error says whether a retry may help."""

import json
import subprocess
import sys
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from runtime import secrets
from runtime.secrets import Secret, SecretRefused, SecretUnavailable
from tests.unit.ordering import secrets_manager

VALUE = "a-value-nobody-sees"
# Reads a secret in a process with a trace, and prints the trace.
TRACED = f"""
import json, sys
sys.path[:] = {sys.path!r}
from aws_xray_sdk.core import xray_recorder
from botocore.awsrequest import AWSResponse
from runtime import clients
from runtime.secrets import Secret

class Emitter:
    def send_entity(self, entity):
        print(entity.serialize())

class Raw:
    def stream(self, *_, **__):
        yield b'{{"SecretString": "{VALUE}"}}'

xray_recorder.configure(sampling=False, emitter=Emitter())
xray_recorder.begin_segment("lambda")
answer = lambda **_: AWSResponse("-", 200, {{"Content-Type": "application/x-amz-json-1.1"}}, Raw())
clients.session().get_component("event_emitter").register("before-send", answer)
assert Secret("arn:aws:secretsmanager:us-east-1:000000000000:secret:a-AbCdEf").read() == "{VALUE}"
xray_recorder.end_segment()
"""


def refusal(code: str, status: int) -> ClientError:
    return ClientError(
        {"Error": {"Code": code, "Message": "-"}, "ResponseMetadata": {"HTTPStatusCode": status}}, "GetSecretValue"
    )


def test_secret_is_read_once_and_again_after_invalidation(monkeypatch: pytest.MonkeyPatch) -> None:
    arn = secrets_manager.new_secret("old")
    read = secrets_manager.use(monkeypatch)
    secret = Secret(arn)

    assert (read, secret.read(), secret.read()) == ([arn], "old", "old")
    secrets_manager.client().put_secret_value(SecretId=arn, SecretString="new")
    assert secret.read() == "old"
    secret.forget()
    assert (secret.read(), read) == ("new", [arn, arn])


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (refusal("ThrottlingException", 400), SecretUnavailable),
        (refusal("InternalServiceError", 500), SecretUnavailable),
        (EndpointConnectionError(endpoint_url="-"), SecretUnavailable),
        (refusal("AccessDeniedException", 400), SecretRefused),
        (refusal("DecryptionFailure", 400), SecretRefused),
    ],
    ids=str,
)
def test_error_says_whether_a_retry_may_help(
    monkeypatch: pytest.MonkeyPatch, error: Exception, expected: type[Exception]
) -> None:
    class Failing:
        def get_secret_value(self, **_: Any) -> Any:
            raise error

    monkeypatch.setattr(secrets, "client", lambda _: Failing())
    with pytest.raises(expected):
        Secret("arn").read()


def test_missing_or_binary_secret_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets_manager.use(monkeypatch)
    binary = secrets_manager.client().create_secret(Name="binary", SecretBinary=b"x")["ARN"]

    for arn in ("arn:aws:secretsmanager:us-east-1:000000000000:secret:none-AbCdEf", binary):
        with pytest.raises(SecretRefused):
            Secret(arn).read()


@pytest.mark.slow
def test_repr_and_trace_hide_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets_manager.use(monkeypatch)
    secret = Secret(secrets_manager.new_secret(VALUE))
    secret.read()
    run = subprocess.run([sys.executable, "-c", TRACED], env=_AWS, capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["subsegments"][0]["aws"]["operation"] == "GetSecretValue"
    assert VALUE not in run.stdout + run.stderr + repr(secret)


_AWS = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
