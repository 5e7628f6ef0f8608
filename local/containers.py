"""Runs functions of the local stack in containers, with the real `sam local invoke` in Docker, without IAM.

The stack listens on the loopback, which a container cannot reach. It reaches the host's address on Docker's bridge,
where a relay listens while needed.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import boto3
import psutil
import yaml

from .deployment import architecture, build, resources, sam_environment
from .emulator.emulator import REGION, Emulator, LocalStackError, environment
from .relay import relay

_BRIDGE = "docker0"
_SECONDS = 300
# The name of a built template's copy. Beside the artefacts, to which its paths are relative.
_COPY = "containers.yaml"


class ContainersUnavailable(LocalStackError):
    """Containers cannot run here; the message says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """error: the class name of what the function raised. result: what it returned, as parsed JSON. log: its lines."""

    error: str | None
    message: str
    result: Any
    log: str


@dataclass(frozen=True, slots=True)
class Containers:
    """endpoint: of the stack. template: the built one.

    variables: a file of each function's variables, as sam reads it, in a folder for temporary files.
    handlers: logical ids of the functions by the names of their handlers.
    """

    endpoint: str
    template: Path
    variables: Path
    handlers: Mapping[str, str]

    def function(self, event: Path) -> str:
        """The function for an event, by its file's name, which starts with the handler's. Raises LocalStackError."""
        fitting = [handler for handler in self.handlers if re.fullmatch(rf"{handler}(_\w+)?", event.stem)]
        if not fitting:
            raise LocalStackError(
                f"{event.name} does not start with the name of a handler ({', '.join(sorted(self.handlers))})"
            )
        return self.handlers[max(fitting, key=len)]

    def invoke(self, function: str, event: Path) -> Answer:
        """Run a function once, in a new container. Raises LocalStackError with the end of sam's output."""
        command = ["sam", "local", "invoke", function, "--event", str(event), "--template", str(self.template)]
        command += ["--env-vars", str(self.variables), "--parameter-overrides", f"Architecture={architecture()}"]
        ended = subprocess.run(
            command + (["--skip-pull-image"] if _has_image() else []),
            env=sam_environment(self.endpoint, self.variables.parent),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return _answer(ended)


@contextmanager
def containers(emulator: Emulator) -> Iterator[Containers]:
    """Build what has changed, and start the relay. Raises ContainersUnavailable."""
    address = host_address()
    functions = _functions(emulator.endpoint)
    built = build(emulator.endpoint, emulator.log)
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
    """The host's address on Docker's bridge. Raises ContainersUnavailable."""
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
    """Handler and Variables of each deployed function, by its logical id."""
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
    """Copies of the built templates with these variables in all functions: sam sets no others. Returns the root."""
    for child in built.glob("*/template.yaml"):
        root = yaml.compose(child.read_text())
        _name(root, variables)
        _written(child, yaml.serialize(root))
    template = built / "template.yaml"
    return _written(template, template.read_text().replace(f"/{template.name}", f"/{_COPY}"))


def _name(root: Any, variables: Mapping[str, str]) -> None:
    node = root
    for name in ("Globals", "Function", "Environment", "Variables"):
        found = [value for key, value in node.value if key.value == name]
        if not found:  # a template without functions
            return
        node = found[0]
    text = "tag:yaml.org,2002:str"
    node.value += [(yaml.ScalarNode(text, name), yaml.ScalarNode(text, "")) for name in variables]


def _written(template: Path, text: str) -> Path:
    """The copy. Concurrent writers write the same."""
    unfinished = template.with_name(f"{_COPY}.{os.getpid()}")
    unfinished.write_text(text)
    return unfinished.replace(template.with_name(_COPY))


def _answer(ended: subprocess.CompletedProcess[str]) -> Answer:
    try:
        result = json.loads(ended.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise LocalStackError("sam local invoke failed:\n" + ended.stderr[-3000:]) from None
    if isinstance(result, dict) and {"errorType", "errorMessage"} <= result.keys():
        return Answer(result["errorType"], result["errorMessage"], None, ended.stderr)
    return Answer(None, "", result, ended.stderr)
