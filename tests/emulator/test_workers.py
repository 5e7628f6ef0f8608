"""The behaviour that the patch `workers` changes still exists; forked workers with shared code are not visible."""

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from ministack.core import lambda_runtime

from stepwise.local.emulator.patches import workers as workers_patch
from tests.kit.bounded import Threads
from tests.kit.injection import eventually
from tests.kit.ministack import Account, Function, still_there

pytestmark = pytest.mark.local_only("are about the local stack itself")

TELLS = """
import os, signal, subprocess, sys

def handler(event, context):
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "code": os.path.realpath(__file__),
        # The patch `json_logs` adds those of the log.
        "variables": sorted(
            name for name in os.environ
            if name.startswith(("AWS_LAMBDA", "_LAMBDA", "LAMBDA_TASK"))
            and name not in {"AWS_LAMBDA_LOG_FORMAT", "AWS_LAMBDA_LOG_LEVEL"}
        ),
        "cwd": os.path.basename(os.getcwd()),
        "path": [os.path.basename(entry).partition("-")[0] for entry in sys.path[:2]],
        "script": os.path.basename(sys.argv[0]),
        "main": os.path.basename(sys.modules["__main__"].__file__),
        "streams": [os.path.exists(f"/proc/self/fd/{number}") for number in (0, 1, 2)],
        "program": subprocess.run(["sh", "-c", "exit 3"]).returncode,
        "children": signal.getsignal(signal.SIGCHLD),
    }
"""
WAIT = """
import os
import time

def handler(event, context):
    open(os.path.join(event, "started"), "w").close()
    while not os.path.exists(os.path.join(event, "released")):
        time.sleep(0.05)
    return os.getpid()
"""
# Properties of the process that a function does not see.
_OWN = {"pid", "parent", "code"}


def _seen(function: Function) -> dict[str, object]:
    answer = function.call()
    assert answer.error is None, answer
    return dict(answer.body)


def test_ministack_still_starts_an_interpreter_and_unpacks_per_worker(upstream: Account) -> None:
    one, other = (_seen(upstream.function(TELLS)) for _ in range(2))
    assert one["code"] != other["code"], still_there("workers", "code is unpacked for each worker")


def test_workers_share_unpacked_code_and_their_fork_server(ours: Account) -> None:
    one, other = (_seen(ours.function(TELLS)) for _ in range(2))
    assert (one["code"], one["parent"]) == (other["code"], other["parent"])
    assert one["pid"] != other["pid"]


def _updated_during_a_call(account: Account, folder: Path) -> tuple[str | None, Any]:
    """The error and the result of a call during which the function is updated."""
    function = account.function(WAIT)
    with Threads(1) as pool:
        call = pool.submit(function.call, str(folder))
        eventually((folder / "started").exists)
        account.client("lambda").update_function_configuration(FunctionName=function.name, MemorySize=256)
        (folder / "released").touch()
        answer = call.result()
    return answer.error, answer.body


def test_ministack_still_ends_a_call_in_flight_on_a_function_update(upstream: Account, tmp_path: Path) -> None:
    error, _ = _updated_during_a_call(upstream, tmp_path)
    assert error, still_there("workers", "calls in flight during an update")


def test_call_in_flight_survives_a_function_update(ours: Account, tmp_path: Path) -> None:
    error, pid = _updated_during_a_call(ours, tmp_path)
    assert error is None
    # The call's worker serves no other call.
    eventually(lambda: not psutil.pid_exists(pid))


def test_ministack_still_keeps_a_worker_per_function(monkeypatch: pytest.MonkeyPatch) -> None:
    idle = SimpleNamespace(in_use=False, last_used=0, config={})
    monkeypatch.setattr(lambda_runtime, "_workers", {"function": [idle]})
    lambda_runtime.reap_idle_workers(60)
    assert lambda_runtime._workers == {"function": [idle]}, still_there("workers", "idle workers stay")


def test_idle_worker_ends_but_a_busy_or_recent_one_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = [
        SimpleNamespace(in_use=in_use, last_used=time.time() - ago) for in_use, ago in ((0, 61), (0, 1), (1, 99))
    ]
    ended = list[Any]()
    monkeypatch.setattr(lambda_runtime, "_workers", {"one": workers, "other": workers[:1]})
    monkeypatch.setattr(lambda_runtime, "kill_workers", ended.extend)

    assert workers_patch._reap(60) == 2
    assert (ended, lambda_runtime._workers) == ([workers[0]] * 2, {"one": workers[1:]})


def test_changed_code_is_unpacked_elsewhere(ours: Account) -> None:
    one, other = (_seen(ours.function(source)) for source in (TELLS, TELLS + "\n"))
    assert one["code"] != other["code"]


def test_function_sees_the_environment_of_its_own_interpreter(ours: Account, upstream: Account) -> None:
    forked, started = (_seen(account.function(TELLS)) for account in (ours, upstream))
    differ = {name for name in forked if forked[name] != started[name]} - _OWN
    assert {name: (forked[name], started[name]) for name in differ} == {}


def test_dead_fork_server_is_replaced(ours: Account) -> None:
    function, other = ours.function(TELLS), ours.function(TELLS)
    before = _seen(function)
    os.kill(int(str(before["parent"])), signal.SIGKILL)
    assert _seen(function)["pid"] == before["pid"]
    assert _seen(other)["parent"] != before["parent"]
