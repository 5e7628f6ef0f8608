"""Runs functions of the local stack in containers, with the real `sam local` in Docker, without IAM.

The stack listens on the loopback, which a container cannot reach. It reaches the host's address on Docker's bridge,
where a relay listens while needed.
"""

import json
import re
import shutil
import socket
import socketserver
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import boto3
import psutil

from .deployment import architecture, build, copies, resources, sam_environment
from .emulator.emulator import REGION, Emulator, LocalStackError, environment, free_port

_BRIDGE = "docker0"
_SECONDS = 300
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
# Name of a built template's copy, next to the artifacts to which its paths are relative.
_COPY = "containers.json"


class ContainersUnavailable(LocalStackError):
    """Containers cannot run here; the message says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of an invocation.

    error: the class name of what the function raised. result: its return value, as parsed JSON. log: its lines.
    """

    error: str | None
    message: str
    result: Any
    log: str


@dataclass(frozen=True, slots=True)
class Containers:
    """Runs functions. endpoint: the stack's endpoint. template: the built one.

    variables: a file of each function's variables, as sam reads it, in a folder for temporary files.
    handlers: logical ids of the functions by the names of their handlers.
    """

    endpoint: str
    template: Path
    variables: Path
    handlers: Mapping[str, str]

    def function(self, event: Path) -> str:
        """Return the function for an event, by its file's name, which starts with the handler's.

        Raises LocalStackError.
        """
        fitting = [handler for handler in self.handlers if re.fullmatch(rf"{handler}(_\w+)?", event.stem)]
        if not fitting:
            raise LocalStackError(
                f"{event.name} does not start with the name of a handler ({', '.join(sorted(self.handlers))})"
            )
        return self.handlers[max(fitting, key=len)]

    def invoke(self, function: str, event: Path) -> Answer:
        """Run a function once, in a new container. Raises LocalStackError with the end of sam's output."""
        ended = subprocess.run(
            self._sam("invoke", function, "--event", str(event)),
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return _answer(ended.stdout, ended.stderr)

    @contextmanager
    def kept(self) -> Iterator["KeptContainers"]:
        """Keep containers that serve every call of a function, from its first one to the end of the block."""
        port, log = free_port(), self.variables.with_name("start-lambda.log")
        with log.open("w") as output:
            process = subprocess.Popen(
                self._sam("start-lambda", "--port", str(port), "--warm-containers", "LAZY", "--no-watch"),
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        try:
            yield KeptContainers(process, port, log)
        finally:
            # sam removes its containers when it is terminated.
            process.terminate()
            process.wait(_SECONDS)

    def _sam(self, command: str, *arguments: str) -> list[str]:
        shared = ["--template", str(self.template), "--env-vars", str(self.variables)]
        shared += ["--parameter-overrides", f"Architecture={architecture()}"]
        return ["sam", "local", command, *arguments, *shared, *(["--skip-pull-image"] if _has_image() else [])]

    @property
    def _environment(self) -> dict[str, str]:
        return sam_environment(self.endpoint, self.variables.parent)


@dataclass(frozen=True, slots=True)
class KeptContainers:
    """A process of `sam local start-lambda`, which keeps each function's container. log: its output."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def invoke(self, function: str, event: Path) -> Answer:
        """Run a function, in its container. Raises LocalStackError with the end of sam's output."""
        before = self.log.stat().st_size
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/2015-03-31/functions/{function}/invocations", event.read_bytes()
        )
        try:
            self._wait_until_ready()
            with _OPENER.open(request, timeout=_SECONDS) as response:
                text = response.read().decode()
        except OSError as error:
            raise LocalStackError(f"sam local start-lambda: {error}\n{self.log.read_text()[-3000:]}") from None
        return _answer(text, self.log.read_text()[before:])

    def _wait_until_ready(self) -> None:
        """Wait until sam listens. Raises ConnectionError after the deadline."""
        deadline = time.monotonic() + _SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.1)
        raise ConnectionError("it does not listen")


@contextmanager
def containers(emulator: Emulator, template: Path | None = None) -> Iterator[Containers]:
    """Build what has changed, and start the relay. Raises ContainersUnavailable."""
    address = host_address()
    functions = _functions(emulator.endpoint)
    built = build(emulator.endpoint, emulator.log, template)
    with ExitStack() as stack:
        endpoints = {
            name: url for name, url in environment(emulator.endpoint).items() if name.startswith("AWS_ENDPOINT_URL")
        }
        ports = {name: stack.enter_context(relay(address, urlparse(url).port or 80)) for name, url in endpoints.items()}
        reached = {name: f"http://{address}:{port}" for name, port in ports.items()}
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = folder / "env.json"
        variables.write_text(json.dumps({name: own["Variables"] | reached for name, own in functions.items()}))
        template = _template(built, reached)
        handlers = {own["Handler"].rpartition(".")[2]: name for name, own in functions.items()}
        yield Containers(emulator.endpoint, template, variables, handlers)


def host_address() -> str:
    """Return the host's address on Docker's bridge. Raises ContainersUnavailable."""
    if not shutil.which("docker"):
        raise ContainersUnavailable("there is no docker on PATH")
    ended = _docker("version", "--format", "{{.Server.Version}}")
    if ended.returncode:
        raise ContainersUnavailable(f"Docker does not answer: {ended.stderr.strip()}")
    addresses = [one.address for one in psutil.net_if_addrs().get(_BRIDGE, []) if "." in one.address]
    if not addresses:
        raise ContainersUnavailable(f"this host has no interface {_BRIDGE}, which containers need to reach it")
    return addresses[0]


def _has_image() -> bool:
    return _docker("image", "inspect", f"public.ecr.aws/lambda/python:3.13-{architecture()}").returncode == 0


def _docker(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, timeout=30, check=False)


def _functions(endpoint: str) -> dict[str, dict[str, Any]]:
    """Return Handler and Variables of each deployed function, by its logical id."""
    session = boto3.Session("test", "test", region_name=REGION)
    functions = session.client("lambda", endpoint_url=endpoint)
    names = {
        one["LogicalResourceId"]: one["PhysicalResourceId"]
        for one in resources(session.client("cloudformation", endpoint_url=endpoint))
        if one["ResourceType"] == "AWS::Lambda::Function"
    }
    return {logical: _configuration(functions, physical) for logical, physical in names.items()}


def _configuration(functions: Any, name: str) -> dict[str, Any]:
    found = functions.get_function_configuration(FunctionName=name)
    return {"Handler": found["Handler"], "Variables": found.get("Environment", {}).get("Variables", {})}


def _template(built: Path, variables: Mapping[str, str]) -> Path:
    """Copy the built templates with these variables in all functions: sam sets no others. Returns the root."""
    for _, template in copies(built, _COPY):
        functions = template.get("Globals", {}).get("Function")
        if functions:
            functions["Environment"]["Variables"] |= dict.fromkeys(variables, "")
    return built / _COPY


def _answer(output: str, log: str) -> Answer:
    try:
        result = json.loads(output.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise LocalStackError("sam failed:\n" + log[-3000:]) from None
    if isinstance(result, dict) and {"errorType", "errorMessage"} <= result.keys():
        return Answer(result["errorType"], result["errorMessage"], None, log)
    return Answer(None, "", result, log)


_CHUNK = 64 * 1024


@contextmanager
def relay(address: str, port: int) -> Iterator[int]:
    """Forward connections to this host address to a port of the loopback. Yields the forwarded port."""
    with _Server((address, 0), port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], port: int) -> None:
        super().__init__(address, _Connection)
        self.port = port


class _Connection(socketserver.BaseRequestHandler):
    server: _Server
    request: socket.socket

    def handle(self) -> None:
        # Nothing listens: close the container's connection.
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", self.server.port)) as inner:
            back = threading.Thread(target=_copy, args=(inner, self.request), daemon=True)
            back.start()
            _copy(self.request, inner)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy until either side has closed."""
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
