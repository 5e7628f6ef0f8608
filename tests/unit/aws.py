"""Runs moto in this process. All tests share its clients, because creating a client takes longer than most tests."""

from functools import cache
from typing import Any

import boto3
from moto import mock_aws
from moto.core import errors

__all__ = ["Session", "mock_aws"]

# moto reads a service's errors for each error that it returns.
errors.ErrorLookupFactory = cache(errors.ErrorLookupFactory)  # type: ignore[misc]


class Session:
    """A session that shares one client per service."""

    def client(self, service: str, **_: Any) -> Any:
        return _client(service)


@cache
def _client(service: str) -> Any:
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    return boto3.client(service, region_name="us-east-1", **keys)  # type: ignore[call-overload]
