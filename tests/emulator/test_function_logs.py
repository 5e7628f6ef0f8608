"""A function's log lines have all their fields, in the format that the template sets."""

import base64
import json
from typing import Any

import pytest

from tests.kit.ministack import Account, Function, still_there

pytestmark = pytest.mark.local_only("are about the local stack itself")

LOGS = """
import logging

log = logging.getLogger("shop")

def handler(event, context):
    log.debug("too much")
    log.info("started", extra={"order_id": event["id"]})
    try:
        raise ValueError("no number: 七")
    except ValueError:
        log.exception("refused")
    return context.aws_request_id
"""
JSON = {"LogFormat": "JSON", "ApplicationLogLevel": "INFO", "SystemLogLevel": "WARN"}


def _lines(function: Function, event: Any) -> list[str]:
    lines = base64.b64decode(function.call(event).log).decode().splitlines()
    return [line for line in lines if not line.startswith(("START", "END", "REPORT"))]


def test_ministack_still_drops_the_fields_of_log_lines(upstream: Account) -> None:
    lines = _lines(upstream.function(LOGS, LoggingConfig=JSON), {"id": "o-1"})
    assert "order_id" not in "".join(lines), still_there("json_logs", "the log format JSON")


def test_log_line_has_its_fields_and_its_invocation(ours: Account) -> None:
    function = ours.function(LOGS, LoggingConfig=JSON)
    for order_id in ("o-1", "o-2"):
        started, refused = map(json.loads, _lines(function, {"id": order_id}))

        assert started.pop("timestamp").endswith("Z")
        assert len(started.pop("requestId")) == 36
        assert started == {"level": "INFO", "message": "started", "logger": "shop", "order_id": order_id}
        assert (refused["level"], refused["message"], refused["errorType"]) == ("ERROR", "refused", "ValueError")
        assert refused["errorMessage"] == "no number: 七"
        assert 'raise ValueError("no number: 七")' in refused["stackTrace"][-1]


def test_function_without_json_logging_logs_text(ours: Account) -> None:
    lines = _lines(ours.function(LOGS), {"id": "o-1"})

    assert (lines[0], "order_id" in "".join(lines)) == ("refused", False)
