"""Addresses and secrets, as functions read them."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from webhooks.endpoints import Endpoint, Endpoints
from webhooks.errors import NotSent

VALUE = {"url": "https://hooks.example.com/?token=t0ken", "secrets": ["whsec_c2VjcmV0"]}


@dataclass
class Ssm:
    """Parameter Store. error: its answer, if any."""

    error: Exception | None = None
    reads: int = 0

    def get_parameter(self, **asked: Any) -> Any:
        assert asked == {"Name": "/stepwise/webhooks/wh_1", "WithDecryption": True}
        self.reads += 1
        if self.error:
            raise self.error
        return {"Parameter": {"Value": json.dumps(VALUE)}}


def test_secret_is_cached_for_a_minute() -> None:
    ssm, now = Ssm(), [0.0]
    endpoints = Endpoints(lambda: ssm, "/stepwise/webhooks", lambda: now[0])
    for at, reads in ((0, 1), (59, 1), (61, 2)):
        now[0] = at
        assert endpoints.read("wh_1") == Endpoint(**VALUE)
        assert ssm.reads == reads


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ClientError({"Error": {"Code": "ParameterNotFound"}}, "GetParameter"), "the secret is missing"),
        (
            ClientError({"Error": {"Code": "ThrottlingException"}}, "GetParameter"),
            "cannot be read: ThrottlingException",
        ),
        (ReadTimeoutError(endpoint_url="-"), "cannot be read: ReadTimeoutError"),
    ],
)
def test_without_a_secret_nothing_is_sent_and_the_delivery_waits(error: Exception, reason: str) -> None:
    with pytest.raises(NotSent, match=rf"{reason}$"):
        Endpoints(lambda: Ssm(error), "/stepwise/webhooks").read("wh_1")


def test_neither_address_nor_secret_is_in_a_repr() -> None:
    endpoints = Endpoints(Ssm, "/stepwise/webhooks")
    endpoints.read("wh_1")

    assert "t0ken" not in f"{endpoints!r} {Endpoint(**VALUE)!r}"
    assert "whsec" not in f"{endpoints!r} {Endpoint(**VALUE)!r}"
