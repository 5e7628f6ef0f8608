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

from .deployment import architecture, build, sam_environment
from .emulator.emulator import REGION, Emulator, LocalStackError, environment
from .relay import relay

_BRIDGE = "docker0"
_SECONDS = 300


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
    """endpoint: of the stack. template: of what was built. variables: a file of each function's, as sam reads it.

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
            env=sam_environment(self.endpoint),
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
    pages = session.client("cloudformation", endpoint_url=endpoint).get_paginator("list_stack_resources")
    functions = session.client("lambda", endpoint_url=endpoint)
    listed = pages.paginate(StackName="stepwise")
    resources = [one for page in listed for one in page["StackResourceSummaries"]]
    names = {
        one["LogicalResourceId"]: one["PhysicalResourceId"]
        for one in resources
        if one["ResourceType"] == "AWS::Lambda::Function"
    }
    return {logical: _configuration(functions, physical) for logical, physical in names.items()}


def _configuration(functions: Any, name: str) -> dict[str, Any]:
    found = functions.get_function_configuration(FunctionName=name)
    return {"Handler": found["Handler"], "Variables": found.get("Environment", {}).get("Variables", {})}


def _template(built: Path, variables: Mapping[str, str]) -> Path:
    """The built template with these variables in all functions, because sam sets no others."""
    root = yaml.compose((built / "template.yaml").read_text())
    node: Any = root
    for name in ("Globals", "Function", "Environment", "Variables"):
        node = next(value for key, value in node.value if key.value == name)
    text = "tag:yaml.org,2002:str"
    node.value += [(yaml.ScalarNode(text, name), yaml.ScalarNode(text, "")) for name in variables]
    # Beside the artifacts, because its paths are relative. Concurrent writers write the same.
    template, unfinished = built / "containers.yaml", built / f"containers.yaml.{os.getpid()}"
    unfinished.write_text(yaml.serialize(root))
    return unfinished.replace(template)


def _answer(ended: subprocess.CompletedProcess[str]) -> Answer:
    try:
        result = json.loads(ended.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise LocalStackError("sam local invoke failed:\n" + ended.stderr[-3000:]) from None
    if isinstance(result, dict) and {"errorType", "errorMessage"} <= result.keys():
        return Answer(result["errorType"], result["errorMessage"], None, ended.stderr)
    return Answer(None, "", result, ended.stderr)
