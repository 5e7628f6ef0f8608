"""`sam build` and `sam deploy` with the local stack as their endpoint; and a stack's resources."""

import hashlib
import json
import os
import platform
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from .emulator.emulator import ROOT, STATE, LocalStackError, environment, locked

_BUILD = STATE / "build"
_TEMPLATE, PACKED = "template.yaml", "packed.json"
_SOURCES = ("template.yaml", "stacks", "samconfig.toml", "functions", "layers", "statemachine")
# The simulator's instances get their ids when they are created, so none can be listed before.
_ANY_INSTANCE = "arn:aws:connect:us-east-1:000000000000:instance/*"
_ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}


def deploy(
    endpoint: str, log: Path, *, name: str = "stepwise", template: str = "template.yaml", **parameters: str
) -> None:
    """Build what has changed and deploy the template. sam's output goes to `log`.

    name: of the stack. template: the root, or a nested stack's file. parameters: those that differ from the defaults.
    Raises LocalStackError with the end of the log. Concurrent deployments wait for each other: they share a build.
    """
    with locked("build.lock"):
        _build(endpoint, log, template)
        chosen = {"Architecture": architecture(), "ConnectInstanceArns": _ANY_INSTANCE, **parameters}
        _sam(endpoint, log, "deploy", "--stack-name", name, "--parameter-overrides", *overrides(chosen))


def overrides(parameters: Mapping[str, str]) -> list[str]:
    """Parameters for `sam deploy`. Without quotes, sam rejects an empty value, and cuts a value at its first space."""
    return [f'{name}="{value.replace('"', '\\"')}"' for name, value in parameters.items()]


def build(endpoint: str, log: Path) -> Path:
    """Build what has changed, without deploying. Returns the folder of the artifacts, one folder per stack.

    Raises LocalStackError, like `deploy`.
    """
    with locked("build.lock"):
        _build(endpoint, log)
    return _BUILD


def _build(endpoint: str, log: Path, template: str = "template.yaml") -> None:
    stamp = _BUILD / "sources.sha256"
    current = digest(_SOURCES, architecture() + template)
    if stamp.exists() and stamp.read_text() == current and (_BUILD / PACKED).exists():
        return
    stamp.unlink(missing_ok=True)
    _sam(endpoint, log, "build", "--template", template, "--parameter-overrides", f"Architecture={architecture()}")
    packed(_BUILD)
    stamp.write_text(current)


def packed(built: Path) -> None:
    """Make `sam deploy` faster, which zips each function's folder by itself.

    In the copies of the built templates, functions and layers with the same content have one archive.
    """
    for folder, template in copies(built, PACKED):
        for resource in template["Resources"].values():
            properties = resource.get("Properties", {})
            for name in {"CodeUri", "ContentUri"} & properties.keys():
                properties[name] = os.path.relpath(_archive(folder / properties[name], built), folder)


def copies(built: Path, name: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Copy each built template under another name beside it, with the caller's changes. The copies name each other.

    They are JSON, which sam reads faster than YAML. Yields each folder and its template.
    """
    for file in (built / _TEMPLATE, *sorted(built.glob(f"*/{_TEMPLATE}"))):
        template = yaml.load(file.read_text(), yaml.CSafeLoader)
        for resource in template["Resources"].values():
            properties = resource.get("Properties", {})
            for nested in {"Location", "TemplateURL"} & properties.keys():
                properties[nested] = properties[nested].replace(_TEMPLATE, name)
        yield file.parent, template
        # Concurrent writers write the same.
        unfinished = file.with_name(f"{name}.{os.getpid()}")
        unfinished.write_text(json.dumps(template))
        unfinished.replace(file.with_name(name))


def _archive(folder: Path, to: Path) -> Path:
    """The archive of a folder, the same for the same sources."""
    archive = to / f"{digest(['.'], root=folder)}.zip"
    if not archive.exists():
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                made.writestr(zipfile.ZipInfo(str(path.relative_to(folder))), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return archive


def architecture() -> str:
    """Lambda's name of this machine's architecture. Raises LocalStackError if it has none."""
    machine = platform.machine().lower()
    if machine not in _ARCHITECTURES:
        raise LocalStackError(f"Lambda does not support this machine's architecture ({machine})")
    return _ARCHITECTURES[machine]


def digest(sources: Iterable[str], salt: str = "", root: Path = ROOT) -> str:
    """The SHA-256 of files and folders below `root`, with their names."""
    digest = hashlib.sha256(salt.encode())
    for path in sorted(_files(root / source for source in sources)):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _files(found: Iterable[Path]) -> list[Path]:
    files = [path for root in found for path in ([root] if root.is_file() else root.rglob("*"))]
    return [path for path in files if path.is_file() and "__pycache__" not in path.parts]


def resources(cloudformation: Any, stack: str = "stepwise") -> Iterator[dict[str, Any]]:
    """Every resource of a deployed stack and its nested stacks, as CloudFormation lists them."""
    for page in cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack):
        for one in page["StackResourceSummaries"]:
            if one["ResourceType"] == "AWS::CloudFormation::Stack":
                yield from resources(cloudformation, one["PhysicalResourceId"])
            else:
                yield one


def sam_environment(endpoint: str, temporary: str | Path) -> dict[str, str]:
    """Environment in which the project's SAM CLI uses the local stack.

    temporary: a folder to remove afterward. sam leaves an empty folder there for each archive that it uploads.
    """
    path = os.pathsep.join([str(ROOT / ".venv-sam/bin"), str(ROOT / ".venv/bin"), os.environ["PATH"]])
    return environment(endpoint) | {
        "PATH": path,
        "PYTHONPATH": str(ROOT / "src/stepwise/local/sam"),
        "TMPDIR": str(temporary),
        # sam writes settings of its own, and the home may be read-only.
        "__SAM_CLI_APP_DIR": str(temporary),
        # By default sam polls the stack's state every five seconds; a local stack is ready in two.
        "SAM_CLI_POLL_DELAY": "0.2",
    }


def _sam(endpoint: str, log: Path, command: str, *arguments: str) -> None:
    with log.open("a") as output, tempfile.TemporaryDirectory() as temporary:
        ended = subprocess.run(
            # By default sam looks for its settings beside the template.
            ["sam", command, "--config-file", ROOT / "samconfig.toml", "--config-env", "local", *arguments],
            cwd=ROOT,
            env=sam_environment(endpoint, temporary),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
        )
    if ended.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
        raise LocalStackError(f"sam {command} failed:\n{tail}")
