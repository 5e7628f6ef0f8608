"""Starts and stops the emulator process. `stop` leaves no process and no temporary file."""

import fcntl
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from stepwise.local.project import ROOT as ROOT
from stepwise.local.project import SOURCES
from stepwise.local.proxies import without_proxy
from stepwise.local.simulators import simulators

from .server import UNTIL_EOF

STATE = ROOT / ".stepwise"
REGION = "us-east-1"

# Concurrent worker processes. Without a limit, a burst of cold starts overloads two cores.
_CONCURRENCY = 20
# Each version of the code and the layers is unpacked once, about 5 MB; a test may deploy a few hundred.
_ROOM = 2 * 1024**3
_RECORDED = ("pid", "created", "attached")
_START_SECONDS = 60
_STOP_SECONDS = 30


_PASSED_ON = frozenset({"PATH", "HOME", "LANG", "LC_ALL", "TZ", "NO_PROXY", "no_proxy", "LD_LIBRARY_PATH"})

# Running emulators that this process started. An attached one ends when its pipe closes, so keep it open.
_started: dict[int, subprocess.Popen[bytes]] = {}


class LocalStackError(Exception):
    """The local stack cannot continue; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Emulator:
    """A running emulator, identified by its process id and start time. attached: it ends with its starter's process."""

    port: int
    pid: int
    created: float
    attached: bool = field(default=False, compare=False)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return _home(self.port) / "emulator.log"

    @property
    def simulators(self) -> dict[str, str]:
        """The simulators' endpoints, by their names in `simulators.SIMULATORS`."""
        return endpoints_beside(self.port)


def endpoints_beside(port: int) -> dict[str, str]:
    """Return the simulators' endpoints of the emulator at this port; none if it is not running."""
    return simulators.recorded(_home(port))


def environment(endpoint: str) -> dict[str, str]:
    """Return an environment for a program that uses the local stack and cannot reach a real account by mistake."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "SAM_"))}
    return kept | {
        **without_proxy(),
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "SAM_CLI_TELEMETRY": "0",
        **_variables_of_simulators(endpoint),
    }


def _variables_of_simulators(endpoint: str) -> dict[str, str]:
    port = urlsplit(endpoint).port
    return simulators.variables(simulators.recorded(_home(port))) if port else {}


def limits() -> dict[str, str]:
    """Return the settings that enforce AWS's limits, with overrides from the caller's environment."""
    return {name: value for name, value in os.environ.items() if name.startswith("STEPWISE_LIMIT_")} | {
        "STEPWISE_LIMITS": "1"
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def reserved_port() -> Iterator[int]:
    """Reserve a free port for the length of a block: only a program that asks for this port gets it."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def running(port: int) -> Emulator | None:
    """Return the running emulator at this port, if there is one. Removes the files of a crashed one."""
    with _registry():
        return _running(port)


def serving() -> list[Emulator]:
    """Return every running emulator of this checkout that does not end by itself, by port."""
    with _registry():
        found = [_running(int(home.name)) for home in (STATE / "run").glob("[0-9]*")]
    return sorted((one for one in found if one and not one.attached), key=lambda one: one.port)


def _running(port: int) -> Emulator | None:
    emulator = _recorded(port)
    if emulator and _process(emulator):
        return emulator
    _remove(port)
    return None


def start(port: int, *, attached: bool = False, settings: Mapping[str, str] | None = None) -> Emulator:
    """Start an emulator and wait until it responds.

    attached: it ends with the process that starts it, even if that is killed.
    settings: more variables of the emulator's environment.
    Raises LocalStackError if the port is taken or the emulator does not start.
    """
    with _registry():
        for home in (STATE / "run").glob("[0-9]*"):
            _running(int(home.name))
        if _taken(port) or _recorded(port):
            raise LocalStackError(f"port {port} is in use by another program; choose another one with STEPWISE_PORT")
        process = _spawn(port, attached=attached, settings=settings or {})
        _started[process.pid] = process
        try:
            emulator = Emulator(port, process.pid, psutil.Process(process.pid).create_time(), attached)
            _record(emulator).write_text(json.dumps({name: getattr(emulator, name) for name in _RECORDED}))
        except BaseException:
            process.kill()
            raise
    try:
        wait_until_ready(emulator)
    except BaseException:
        stop(emulator)
        raise
    return emulator


def stop(emulator: Emulator) -> None:
    """End the emulator with its workers, and remove its files."""
    process = _process(emulator)
    if process:
        family = [*process.children(recursive=True), process]
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        psutil.wait_procs(family, timeout=_STOP_SECONDS)
    _forget(emulator)
    _remove(emulator.port)


@contextmanager
def attached(settings: Mapping[str, str] | None = None) -> Iterator[Emulator]:
    """Run an emulator on a free port for the length of a block."""
    with reserved_port() as port:
        emulator = start(port, attached=True, settings=settings)
    try:
        yield emulator
    finally:
        stop(emulator)


def _registry() -> AbstractContextManager[None]:
    """Lock the records of processes."""
    return locked("run.lock")


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold a lock that the processes of this checkout share.

    Importing filelock instead would add an audit hook that slows down every access to a stack frame.
    """
    STATE.mkdir(exist_ok=True)
    with (STATE / name).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _home(port: int) -> Path:
    return STATE / "run" / str(port)


def _scratch(port: int) -> Path:
    """Return where workers unpack their code: hundreds of files, in memory if there is room."""
    in_memory = _in_memory(port)
    if os.access(in_memory.parent, os.W_OK) and shutil.disk_usage(in_memory.parent).free > _ROOM:
        return in_memory
    return _home(port) / "tmp"


def _in_memory(port: int) -> Path:
    shared = Path("/dev/shm")  # noqa: S108 # nosec B108 # only the memory is meant; files lie in a folder of their own
    return shared / f"stepwise-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]}-{port}"


def _remove(port: int) -> None:
    # Both places: memory may have had room at the start and be full now.
    for folder in (_in_memory(port), _home(port)):
        shutil.rmtree(folder, ignore_errors=True)


def _record(emulator: Emulator) -> Path:
    return _home(emulator.port) / "process.json"


def _recorded(port: int) -> Emulator | None:
    try:
        record = json.loads((_home(port) / "process.json").read_text())
        return Emulator(port, record["pid"], record["created"], record.get("attached", False))
    except (OSError, ValueError, KeyError):
        return None


def _process(emulator: Emulator) -> psutil.Process | None:
    try:
        process = psutil.Process(emulator.pid)
        alive = process.create_time() == emulator.created and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return process if alive else None


def _taken(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _spawn(port: int, *, attached: bool, settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    _remove(port)
    home, temporary = _home(port), _scratch(port)
    home.mkdir(parents=True)
    temporary.mkdir()
    # MiniStack reads its settings from variables too, so only general variables of the caller are passed on.
    passed = {name: value for name, value in environment("").items() if name in _PASSED_ON or name.startswith("AWS_")}
    variables = passed | {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        # Neither start nor clean up containers.
        "DOCKER_HOST": f"unix://{home}/no-docker",
        "GATEWAY_PORT": str(port),
        "BIND_HOST": "127.0.0.1",
        "AUTH": "true",
        "IOT_MTLS_ENABLED": "0",
        "STATE_DIR": str(home / "state"),
        "LAMBDA_ACCOUNT_CONCURRENCY": str(_CONCURRENCY),
        # A stack has a hundred functions, and a test run ten stacks.
        "LAMBDA_WARM_TTL_SECONDS": "60",
        "LOG_LEVEL": "WARNING",
        "TMPDIR": str(temporary),
        "PYTHONPATH": str(SOURCES),
        **settings,
    }
    command = [sys.executable, "-m", f"{__package__}.server", *([UNTIL_EOF] if attached else [])]
    with (home / "emulator.log").open("wb") as log:
        return subprocess.Popen(
            command,
            cwd=home,
            env=variables,
            stdin=subprocess.PIPE if attached else subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def wait_until_ready(emulator: Emulator) -> None:
    """Wait for an emulator that somebody has just started. Raises LocalStackError if it does not respond."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if _process(emulator) is None:
            raise LocalStackError(f"the emulator stopped during startup:\n{_tail(emulator.log)}")
        if _answers(emulator.endpoint):
            return
        time.sleep(0.05)
    raise LocalStackError(f"the emulator did not answer within {_START_SECONDS} s:\n{_tail(emulator.log)}")


def _forget(emulator: Emulator) -> None:
    process = _started.pop(emulator.pid, None)
    if process:
        process.wait(timeout=_STOP_SECONDS)
        if process.stdin:
            process.stdin.close()


def _answers(endpoint: str) -> bool:
    without_proxy = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with without_proxy.open(f"{endpoint}/_ministack/health", timeout=1):
            return True
    except (urllib.error.URLError, OSError):
        return False


def _tail(path: Path) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-15:])
