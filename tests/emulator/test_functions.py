"""Differences between MiniStack and AWS that the local engine's patches correct: each still exists without them."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.kit.bounded import Threads
from tests.kit.injection import eventually
from tests.kit.ministack import Account, Answer, Function, still_there, with_sources_on_path

pytestmark = pytest.mark.local_only("are about the local stack itself")

OUT_OF_STOCK = """
import os

class OutOfStock(Exception):
    pass

def handler(event, context):
    if event.get("fail"):
        raise OutOfStock("no pen-01 left")
    return os.getpid()
"""
EXIT = """
import os

def handler(event, context):
    if event.get("fail"):
        os._exit(1)
    return os.getpid()
"""
SYSTEM_EXIT = """
import sys

def handler(event, context):
    sys.exit(1)
"""
SEES = """
import importlib.util

def handler(event, context):
    return importlib.util.find_spec(event["module"]) is not None
"""

SLEEP_OR_DIE_AT_START = """
import os
import time

if os.path.exists("HOME/die"):
    os._exit(1)

def handler(event, context):
    open("HOME/started", "w").close()
    time.sleep(event["seconds"])
    return "slept"
"""
NOTE_AND_FAIL = """
def handler(event, context):
    with open(event["detail"]["file"], "a") as notes:
        notes.write("called\\n")
    raise ValueError("again, please")
"""
WAIT_AND_FAIL = """
import os
import time

def handler(event, context):
    open(event["detail"]["started"], "w").close()
    while not os.path.exists(event["detail"]["released"]):
        time.sleep(0.05)
    raise ValueError("again, please")
"""
# AWS tries an asynchronous call three times. Here all attempts are over long before this many seconds.
TRIES, TRIES_TAKE = 3, 1

FAIL = {"fail": True}


# --- 1. an exception arrives under its class name, and the worker lives on ---


def test_ministack_still_hides_the_exception_class(upstream: Account) -> None:
    answer = upstream.function(OUT_OF_STOCK).call(FAIL)
    assert answer.error == "Runtime.HandlerError", still_there("functions", "the class name of an exception")


def test_ministack_still_hides_the_exception_class_from_state_machines(upstream: Account) -> None:
    execution = upstream.run(upstream.function(OUT_OF_STOCK), FAIL)
    assert execution["error"] == "Runtime.HandlerError", still_there(
        "server", "the class name that Retry and Catch match"
    )


def test_ministack_still_starts_another_worker_after_an_exception(upstream: Account) -> None:
    function = upstream.function(OUT_OF_STOCK)
    before = function.call().body
    assert function.call().body == before
    function.call(FAIL)
    assert function.call().body != before, still_there("functions", "a worker ends at every exception")


def test_exception_arrives_as_on_aws(ours: Account) -> None:
    answer = ours.function(OUT_OF_STOCK).call(FAIL)
    assert answer.error == "OutOfStock"
    assert answer.body.keys() == {"errorMessage", "errorType", "requestId", "stackTrace"}
    assert answer.body["errorMessage"] == "no pen-01 left"
    assert 'raise OutOfStock("no pen-01 left")' in answer.body["stackTrace"][-1]


def test_state_machine_sees_the_exception_class(ours: Account) -> None:
    execution = ours.run(ours.function(OUT_OF_STOCK), FAIL)
    assert execution["error"] == "OutOfStock"
    assert json.loads(execution["cause"])["errorMessage"] == "no pen-01 left"


def test_worker_survives_an_exception(ours: Account) -> None:
    function = ours.function(OUT_OF_STOCK)
    before = function.call().body
    assert function.call(FAIL).error == "OutOfStock"
    assert function.call().body == before


# --- 2. a worker that died ---


@pytest.mark.parametrize("source", [EXIT, SYSTEM_EXIT], ids=["os._exit", "sys.exit"])
def test_ministack_still_hides_the_death_of_a_worker(upstream: Account, source: str) -> None:
    answer = upstream.function(source).call(FAIL)
    assert answer.error == "Runtime.HandlerError", still_there("functions", "Runtime.ExitError")


@pytest.mark.parametrize("source", [EXIT, SYSTEM_EXIT], ids=["os._exit", "sys.exit"])
def test_worker_death_is_an_exit_error(ours: Account, source: str) -> None:
    assert ours.function(source).call(FAIL).error == "Runtime.ExitError"


def test_state_machine_sees_the_death_of_a_worker(ours: Account) -> None:
    assert ours.run(ours.function(EXIT), FAIL)["error"] == "Runtime.ExitError"


def test_dead_worker_is_replaced(ours: Account) -> None:
    function = ours.function(EXIT)
    before = function.call().body
    function.call(FAIL)
    after = function.call()
    assert after.error is None
    assert after.body != before


def _busy_while_another_dies(account: Account, home: Path) -> Answer:
    """The response of a call in flight while another worker of the same function is killed at its start."""
    function = account.function(SLEEP_OR_DIE_AT_START.replace("HOME", str(home)))
    with Threads(1) as pool:
        busy = pool.submit(function.call, {"seconds": 3})
        eventually((home / "started").exists)
        (home / "die").touch()
        function.call({"seconds": 0})
        return busy.result()


def test_ministack_still_ends_all_workers_if_one_dies_at_start(upstream: Account, tmp_path: Path) -> None:
    answer = _busy_while_another_dies(upstream, tmp_path)
    assert answer.error is not None, still_there("functions", "a worker that dies at its start takes the others along")


def test_worker_dying_at_start_does_not_end_others(ours: Account, tmp_path: Path) -> None:
    answer = _busy_while_another_dies(ours, tmp_path)
    assert (answer.error, answer.body) == (None, "slept")


# --- 3. a call too many ---


def test_ministack_still_hides_a_throttle_from_state_machines(upstream: Account) -> None:
    function = upstream.function(OUT_OF_STOCK)
    function.throttle()
    execution = upstream.run(function, {})
    assert execution["error"] == "Lambda.Unknown", still_there("functions", "Lambda.TooManyRequestsException")


def test_state_machine_sees_a_throttle(ours: Account) -> None:
    function = ours.function(OUT_OF_STOCK)
    function.throttle()
    execution = ours.run(function, {})
    assert (execution["status"], execution["error"]) == ("FAILED", "Lambda.TooManyRequestsException")


def test_caller_of_lambda_still_sees_a_throttle(ours: Account) -> None:
    function, client = ours.function(OUT_OF_STOCK), ours.client("lambda")
    function.throttle()
    with pytest.raises(client.exceptions.TooManyRequestsException):
        client.invoke(FunctionName=function.name, Payload="{}")


# --- 4. an event that a function refuses ---


def _calls(path: Path) -> int:
    return path.read_text().count("called") if path.exists() else 0


def _failing_on_events(account: Account) -> Function:
    function = account.function(NOTE_AND_FAIL)
    function.on_events()
    return function


def test_ministack_still_drops_an_event_whose_function_failed(upstream: Account, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    _failing_on_events(upstream).send_event({"file": str(notes)})
    eventually(lambda: _calls(notes) > 0)
    time.sleep(TRIES_TAKE)
    assert _calls(notes) == 1, still_there("functions", "an event is tried again")


def test_event_whose_function_failed_is_retried(ours: Account, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    _failing_on_events(ours).send_event({"file": str(notes)})
    eventually(lambda: _calls(notes) == TRIES)


def test_event_waits_for_a_throttled_function(ours: Account, tmp_path: Path) -> None:
    notes, function = tmp_path / "notes", _failing_on_events(ours)
    function.throttle()
    function.send_event({"file": str(notes)})
    time.sleep(TRIES_TAKE)
    assert _calls(notes) == 0
    function.release()
    eventually(lambda: _calls(notes) > 0)


def test_event_retry_runs_the_newly_deployed_code(ours: Account, tmp_path: Path) -> None:
    function = ours.function(WAIT_AND_FAIL)
    function.on_events()
    files = {name: tmp_path / name for name in ("file", "started", "released")}
    function.send_event({name: str(path) for name, path in files.items()})
    eventually(files["started"].exists)
    function.deploy(NOTE_AND_FAIL)
    files["released"].touch()
    eventually(lambda: _calls(files["file"]) == TRIES - 1)


# --- what else the emulator process sees to ---


def test_function_sees_only_deployed_code(ours: Account) -> None:
    assert ours.function(SEES).call({"module": "stepwise"}).body is False


def test_patch_refuses_a_changed_ministack() -> None:
    program = """
from ministack.core import lambda_runtime
lambda_runtime._PYTHON_WORKER_SCRIPT = "another worker"
from stepwise.local.emulator.patches import functions
functions.apply()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=with_sources_on_path(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "RuntimeError: this MiniStack reports exceptions differently" in ended.stderr
