"""Every function has the shape of `runtime.handler`: entry and outcome are logged, foreign messages are replaced."""

import importlib
import logging
from functools import partial
from types import ModuleType, SimpleNamespace

import pytest

from runtime import environment
from runtime.handler import UnexpectedFailure
from tests.kit.project import EVENTS, read_json
from tests.kit.template import FUNCTIONS, Function

CONTEXT = SimpleNamespace(aws_request_id="request-1", get_remaining_time_in_millis=lambda: 15_000)
# An event's name for its id, and the log lines' name.
IDS = {"order_id": "order_id", "import_id": "import_id", "JobId": "job_id"}
SECRET = "tok_visa of c-7"


def break_down(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every factory of the module raise a foreign error, with a message to hide."""

    def read_variable(_: str) -> str:
        raise LookupError(SECRET)

    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setattr(environment, "read_variable", read_variable)
    for name, value in vars(module).items():
        if hasattr(value, "cache_clear"):
            value.cache_clear()  # a decorator holds the factory itself, and another test may have filled it
            monkeypatch.setattr(module, name, value.__wrapped__)


def answers_http(function: Function) -> bool:
    return function.handler == "handle_request"


def reads_queue(function: Function) -> bool:
    return "SQS" in {event["Type"] for event in function.properties.get("Events", {}).values()}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_function_logs_entry_and_outcome_and_hides_foreign_messages(
    function: Function, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module, event = importlib.import_module(function.module), read_json(EVENTS[function.handler])
    break_down(module, monkeypatch)
    caplog.set_level(logging.INFO)
    run = partial(getattr(module, function.handler), event, CONTEXT)
    if reads_queue(function):
        # Only the message fails, and is redelivered.
        assert run() == {"batchItemFailures": [{"itemIdentifier": event["Records"][0]["messageId"]}]}
    elif answers_http(function):
        answer = run()
        assert (answer["statusCode"], answer["headers"]["content-type"]) == (500, "application/problem+json")
    else:
        with pytest.raises(UnexpectedFailure, match=r"^LookupError$"):
            run()

    lines = [record for record in caplog.records if record.name == "runtime.handler"]
    assert [line.message for line in lines] == ["started", "unexpected"]
    assert {vars(line)["task"] for line in lines} == {function.handler}
    assert "duration_ms" in vars(lines[-1])
    assert vars(lines[-1])["error"] == "LookupError"
    assert SECRET not in repr([vars(record) for record in caplog.records])
    for field, name in IDS.items():
        assert field not in event or {vars(line)[name] for line in lines} == {event[field]}
