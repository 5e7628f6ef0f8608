"""Requests to the local stack bypass any proxy; other requests follow the caller's settings."""

from unittest import mock
from urllib.request import proxy_bypass

import pytest

from stepwise.local.proxies import without_proxy


@pytest.mark.parametrize(
    ("variables", "direct", "proxied"),
    [
        ({}, ["127.0.0.1"], ["files.example", "files.corp"]),
        ({"NO_PROXY": "files.corp"}, ["127.0.0.1", "files.corp"], ["files.example"]),
        ({"no_proxy": "files.corp,127.0.0.1"}, ["127.0.0.1", "files.corp"], ["files.example"]),
        ({"no_proxy": "*"}, ["127.0.0.1", "files.corp", "files.example"], []),
    ],
)
def test_exceptions_of_the_caller_are_kept(variables: dict[str, str], direct: list[str], proxied: list[str]) -> None:
    proxy = {"HTTPS_PROXY": "http://127.0.0.1:9"}
    with mock.patch.dict("os.environ", {**proxy, **variables}, clear=True):
        told = without_proxy()
    with mock.patch.dict("os.environ", {**proxy, **told}, clear=True):
        assert [host for host in direct + proxied if proxy_bypass(host)] == direct
