"""The emulator's process: it starts alone, stops completely, and neither kills nor loses anything foreign."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from botocore.exceptions import ReadTimeoutError

from stepwise.local.emulator import emulator
from stepwise.local.emulator.emulator import Emulator, LocalStackError
from stepwise.local.simulators.simulators import SIMULATORS
from tests.kit.bounded import Threads, program
from tests.kit.injection import eventually
from tests.kit.ministack import Account, Function, with_sources_on_path

pytestmark = pytest.mark.local_only("are about the local stack itself")

SLEEP = """
import time

def handler(event, context):
    time.sleep(event.get("seconds", 0))
"""
START = """
import sys, time
from stepwise.local.emulator import emulator
started = emulator.start(emulator.free_port(), attached="attached" in sys.argv)
print(started.port, started.pid, started.created, flush=True)
time.sleep(60)
"""


def _family(started: Emulator) -> list[psutil.Process]:
    """The emulator's process, its simulators and its workers."""
    process = psutil.Process(started.pid)
    return [process, *process.children(recursive=True)]


def _alive(processes: list[psutil.Process], *, within: float) -> list[psutil.Process]:
    """The processes that have not ended after some seconds."""
    alive: list[psutil.Process] = psutil.wait_procs(processes, timeout=within)[1]
    return [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


def _home(port: int) -> Path:
    return emulator.STATE / "run" / str(port)


def _employ(started: Emulator) -> list[Function]:
    """Deploy two functions: the worker of one waits for its next call; that of the other stays busy during tests."""
    idle, busy = (Account(started.endpoint).function(SLEEP) for _ in range(2))
    assert idle.call().error is None
    hasty = busy.account.client("lambda", seconds=1)
    with pytest.raises(ReadTimeoutError):
        hasty.invoke(FunctionName=busy.name, Payload=json.dumps({"seconds": 50}))
    # The emulator, two workers, and their fork server.
    eventually(lambda: len(_family(started)) == 4 + len(SIMULATORS))
    return [idle, busy]


@contextmanager
def _starting(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], Emulator]]:
    """A program that starts an emulator and keeps running, and the emulator."""
    command = [sys.executable, "-c", START, *arguments]
    with program(command, env=with_sources_on_path(), stdout=subprocess.PIPE) as starter:
        assert starter.stdout
        port, pid, created = starter.stdout.readline().split()
        started = Emulator(int(port), int(pid), float(created))
        try:
            yield starter, started
        finally:
            emulator.stop(started)


@contextmanager
def _stranger() -> Iterator[psutil.Process]:
    """A live process that has nothing to do with the local stack."""
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            yield psutil.Process(process.pid)
        finally:
            process.kill()


def _leave_behind(port: int, content: str) -> None:
    """Create the files of a crashed emulator."""
    _home(port).mkdir(parents=True)
    (_home(port) / "emulator.log").touch()
    (_home(port) / "process.json").write_text(content)


@pytest.fixture
def port() -> Iterator[int]:
    """A free port. An emulator that a test leaves there is ended."""
    chosen = emulator.free_port()
    yield chosen
    for process in _started_here(chosen):
        process.kill()
        process.wait()
    shutil.rmtree(_home(chosen), ignore_errors=True)


def _started_here(port: int) -> list[psutil.Process]:
    """Emulators on a port that this process has started, recorded or not."""
    return [process for process in psutil.Process().children() if _gateway(process) == str(port)]


def _gateway(process: psutil.Process) -> str | None:
    try:
        return process.environ().get("GATEWAY_PORT")
    except psutil.Error:
        return None


@contextmanager
def _emulator(port: int, **settings: str) -> Iterator[Emulator]:
    started = emulator.start(port, attached=True, settings=settings)
    try:
        yield started
    finally:
        emulator.stop(started)


# --- start and stop ---


def test_started_emulator_answers_and_is_found_until_stopped(port: int) -> None:
    with _emulator(port) as started:
        assert Account(started.endpoint).client("sts").get_caller_identity()["Arn"].endswith(":root")
        assert emulator.running(port) == started
    assert emulator.running(port) is None


def test_stop_leaves_no_process_and_no_file(port: int) -> None:
    with _emulator(port) as started:
        functions, family = _employ(started), _family(started)
    assert _alive(family, within=0) == []
    assert not _home(port).exists()
    names = [*(function.name for function in functions), f"ministack*{port}"]
    assert [path for name in names for path in Path(tempfile.gettempdir()).glob(f"*{name}*")] == []


def test_stop_removes_the_memory_folder_even_if_memory_is_full(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.access("/dev/shm", os.W_OK):  # noqa: S108
        pytest.skip("this machine has no /dev/shm")
    started = emulator.start(port)
    monkeypatch.setattr(emulator, "_ROOM", sys.maxsize)
    emulator.stop(started)

    assert [path.name for path in Path("/dev/shm").glob(f"stepwise-*-{port}")] == []  # noqa: S108


def test_services_write_only_to_the_emulators_own_directory(port: int) -> None:
    with _emulator(port) as started:
        Account(started.endpoint).client("cognito-idp").list_user_pools(MaxResults=1)
        assert [path.name for path in _home(port).rglob("*.pem")] == ["cognito-rsa-key.pem"]


def test_taken_port_is_rejected_and_names_the_variable_to_change(port: int) -> None:
    refusal = rf"port {port} is in use.*STEPWISE_PORT"
    with socket.create_server(("127.0.0.1", port)), pytest.raises(LocalStackError, match=refusal):
        emulator.start(port)
    assert _started_here(port) == []
    assert not _home(port).exists()


def test_emulator_that_fails_to_start_says_why_and_leaves_nothing(port: int) -> None:
    with pytest.raises(
        LocalStackError, match=r"stopped during startup:\n(.|\n)*ModuleNotFoundError: No module named 'stepwise'"
    ):
        emulator.start(port, settings={"PYTHONPATH": os.devnull})
    assert _started_here(port) == []
    assert not _home(port).exists()


def test_emulator_starts_while_other_commands_look_for_crashed_ones(port: int) -> None:
    up = threading.Event()

    def look() -> None:
        while not up.is_set():
            emulator.running(port)

    with Threads(1) as others:
        looking = others.submit(look)
        try:
            with _emulator(port) as started:
                assert emulator.running(port) == started
        finally:
            up.set()
    looking.result()


# --- who ends with whom ---


def test_attached_emulator_ends_when_its_starter_is_killed() -> None:
    with _starting("attached") as (starter, started):
        _employ(started)
        family = _family(started)
        starter.kill()
        assert _alive(family, within=60) == []
        assert emulator.running(started.port) is None
        assert not _home(started.port).exists()


def test_detached_emulator_outlives_its_starter() -> None:
    with _starting() as (starter, started):
        starter.kill()
        starter.wait()
        process = psutil.Process(started.pid)
        assert _alive([process], within=0.5) == [process]
        found = emulator.running(started.port)
        assert found == started
        emulator.stop(found)
        assert _alive([process], within=0) == []


def test_idle_workers_and_simulators_end_when_their_emulator_is_killed(port: int) -> None:
    with _emulator(port) as started:
        assert Account(started.endpoint).function(SLEEP).call().error is None
        process, *others = _family(started)
        # The worker, and its fork server.
        assert len(others) == 2 + len(SIMULATORS)
        process.kill()
        # This process, the parent, has not reaped it, so a zombie remains, which must not count as running.
        eventually(lambda: process.status() == psutil.STATUS_ZOMBIE)
        assert emulator.running(port) is None
        assert not _home(port).exists()
        assert _alive(others, within=60) == []


# --- what a crash left behind ---


def _dead_process() -> str:
    with subprocess.Popen(["true"]) as process:
        created = psutil.Process(process.pid).create_time()
    return json.dumps({"pid": process.pid, "created": created})


@pytest.mark.parametrize(
    "content", [_dead_process, lambda: "", lambda: '{"pid":', lambda: "{}"], ids=["dead", "empty", "cut off", "other"]
)
def test_leftovers_of_a_crash_are_removed_on_the_next_lookup(port: int, content: Callable[[], str]) -> None:
    _leave_behind(port, content())
    assert emulator.running(port) is None
    assert not _home(port).exists()


def test_reused_process_id_is_not_killed(port: int) -> None:
    with _stranger() as stranger:
        recycled = Emulator(port, stranger.pid, stranger.create_time() - 1)
        _leave_behind(port, json.dumps({"pid": recycled.pid, "created": recycled.created}))
        assert emulator.running(port) is None
        assert not _home(port).exists()
        emulator.stop(recycled)
        assert _alive([stranger], within=0.2) == [stranger]


def test_start_removes_leftovers_of_crashes_and_spares_other_files(port: int) -> None:
    crashed = emulator.free_port()
    with _stranger() as stranger:
        _leave_behind(crashed, _dead_process())
        _leave_behind(port, json.dumps({"pid": stranger.pid, "created": stranger.create_time() - 1}))
        with _emulator(port) as started:
            assert not _home(crashed).exists()
            assert emulator.running(port) == started
        assert _alive([stranger], within=0.2) == [stranger]


# --- side by side ---


def test_only_a_program_asking_for_a_reserved_port_gets_it() -> None:
    with emulator.reserved_port() as port:
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        with socket.create_server(("127.0.0.1", port)):
            assert emulator._taken(port)


def test_two_emulators_side_by_side_do_not_disturb_each_other(port: int) -> None:
    with _emulator(port) as one:
        with emulator.attached() as two:
            topics = {started: Account(started.endpoint).client("sns") for started in (one, two)}
            arn = topics[one].create_topic(Name="of-one")["TopicArn"]
            assert topics[two].list_topics()["Topics"] == []
            with pytest.raises(LocalStackError, match=f"port {two.port} is in use"):
                emulator.start(two.port)
            assert (emulator.running(one.port), emulator.running(two.port)) == (one, two)
        assert [topic["TopicArn"] for topic in topics[one].list_topics()["Topics"]] == [arn]
        assert one.log.exists()


# --- what it may reach, and who may reach it ---


def test_emulator_listens_on_loopback_only(port: int) -> None:
    # A separate port for MiniStack's other listener: a taken default port would hide it.
    with _emulator(port, IOT_MTLS_PORT=str(emulator.free_port())) as started:
        eventually(lambda: _ready(started))
        connections = psutil.Process(started.pid).net_connections(kind="inet")
        listening = {connection.laddr.ip for connection in connections if connection.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}


def _ready(started: Emulator) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"{started.endpoint}/_ministack/ready", timeout=1):  # noqa: S310
        return True
    return False


CREDENTIALS = "[default]\naws_access_key_id = AKIAREAL\naws_secret_access_key = real\n"
WHO_AM_I = """
import boto3
session = boto3.Session()
credentials = session.get_credentials()
meta = session.client("dynamodb").meta
print(session.profile_name, credentials.access_key, credentials.token, meta.endpoint_url, meta.region_name)
"""


@pytest.fixture
def real_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller who is signed in to AWS, by files and by variables."""
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text(CREDENTIALS + CREDENTIALS.replace("default", "production"))
    (tmp_path / ".aws/config").write_text("[default]\nregion = eu-west-1\n[profile production]\nregion = eu-west-1\n")
    variables = {
        "HOME": str(tmp_path),
        "AWS_PROFILE": "production",
        "AWS_ACCESS_KEY_ID": "AKIAREAL",
        "AWS_SECRET_ACCESS_KEY": "real",
        "AWS_SESSION_TOKEN": "real",
        "AWS_REGION": "eu-west-1",
        "AWS_ENDPOINT_URL_DYNAMODB": "https://dynamodb.eu-west-1.amazonaws.com",
        "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/production",
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(tmp_path / "token"),
        "SAM_CLI_TELEMETRY": "1",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("real_account")
def test_local_program_does_not_see_the_callers_account() -> None:
    variables = emulator.environment("http://127.0.0.1:4566")
    ran = subprocess.run([sys.executable, "-c", WHO_AM_I], env=variables, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["default", "test", "None", "http://127.0.0.1:4566", "us-east-1"]


@pytest.mark.usefixtures("real_account")
def test_local_environment_drops_account_variables_and_keeps_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "ed")
    variables = emulator.environment("http://127.0.0.1:4566")
    assert "AWS_PROFILE" not in variables
    assert [name for name, value in variables.items() if name.startswith("AWS_") and "real" in value.lower()] == []
    assert variables["SAM_CLI_TELEMETRY"] == "0"
    assert (variables["EDITOR"], variables["PATH"]) == ("ed", os.environ["PATH"])
