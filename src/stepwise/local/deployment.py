"""`sam build` and `sam deploy` with the local stack as their endpoint; and a stack's resources."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from samtranslator.yaml_helper import yaml_parse

from .emulator.emulator import REGION, ROOT, STATE, LocalStackError, environment, locked
from .project import has_application

_STACK = "AWS::CloudFormation::Stack"
_BUILD = STATE / "build"
_TEMPLATE, PACKED = "template.yaml", "packed.json"
_SOURCES = ("template.yaml", "stacks", "functions", "layers", "statemachine")
_TEMPLATES = ("template.yaml", "template.yml")
_BUILD_OPTIONS = ("--build-dir", str(_BUILD), "--parallel", *(("--build-in-source",) if has_application() else ()))
_CAPABILITIES = ("CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND", *(() if has_application() else ("CAPABILITY_NAMED_IAM",)))
DEPLOY = (
    *("--template-file", str(_BUILD / PACKED), "--region", REGION, "--resolve-s3"),
    *("--capabilities", *_CAPABILITIES, "--no-confirm-changeset", "--no-fail-on-empty-changeset"),
)
"""Options of every local `sam deploy`."""
FAILED_CREATION = {"CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED"}
"""Statuses of a stack that was never created; it can only be deleted."""
# The simulator's instances get their ids at creation, so none can be listed before.
_ANY_INSTANCE = "arn:aws:connect:us-east-1:000000000000:instance/*"
_ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}


def deploy(
    endpoint: str,
    log: Path,
    *,
    name: str = "stepwise",
    template: str | Path | None = None,
    parameters: Mapping[str, str] | None = None,
    role: str | None = None,
    **more: str,
) -> None:
    """Build what has changed and deploy the template. sam's output goes to `log`.

    name: the stack's name. template: a file, from the project's folder; by default its template.yaml. parameters, more:
    those that differ from the defaults. role: the ARN of the role that deploys; by default, everything is allowed.
    Raises LocalStackError with the end of the log. Concurrent deployments wait for each other, because they share a
    build.
    """
    file = _file(template)
    with locked("build.lock"):
        _build(endpoint, log, file)
        chosen = _for_any_stack(file) | dict(parameters or {}) | more
        try:
            passed = ("--role-arn", role) if role else ()
            _sam(endpoint, log, "deploy", *DEPLOY, "--stack-name", name, *passed, *_given(chosen))
        except LocalStackError as error:
            raise LocalStackError("\n".join([str(error), *_why_and_clear(endpoint, name)])) from error


def _why_and_clear(endpoint: str, name: str) -> list[str]:
    """Return what failed, a line each, and delete a stack whose creation failed, because it cannot be updated."""
    import boto3
    from botocore.exceptions import ClientError

    client = boto3.Session("test", "test", region_name=REGION).client("cloudformation", endpoint_url=endpoint)
    try:
        found = failures(client, name)
        status = client.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
    except ClientError:
        # sam failed before there was a stack.
        return []
    if status in FAILED_CREATION:
        client.delete_stack(StackName=name)
        client.get_waiter("stack_delete_complete").wait(StackName=name, WaiterConfig={"Delay": 1})
    return [f"{one.stack}: {one.resource}: {one.reason}" for one in found]


def _file(template: str | Path | None) -> Path:
    """Return the template's file. Raises LocalStackError if there is none."""
    names = [template] if template else _TEMPLATES
    found = next((ROOT / name for name in names if (ROOT / name).is_file()), None)
    if not found:
        raise LocalStackError(f"{ROOT} has no {' or '.join(map(str, names))}: name a template with --template")
    return found


def _for_any_stack(file: Path) -> dict[str, str]:
    """Return the parameters that every local deployment needs and the template has."""
    needed = {"Architecture": architecture(), "ConnectInstanceArns": _ANY_INSTANCE}
    declared = yaml_parse(file.read_text()).get("Parameters") or {}
    return {name: value for name, value in needed.items() if name in declared}


def _given(parameters: Mapping[str, str]) -> list[str]:
    return ["--parameter-overrides", *overrides(parameters)] if parameters else []


def overrides(parameters: Mapping[str, str]) -> list[str]:
    """Format parameters for `sam deploy`.

    Without quotes, sam rejects an empty value, and cuts a value at its first space.
    """
    return [f'{name}="{value.replace('"', '\\"')}"' for name, value in parameters.items()]


def build(endpoint: str, log: Path, template: Path | None = None) -> Path:
    """Build what has changed, without deploying. Returns the folder of the artifacts, one folder per stack.

    Raises LocalStackError, like `deploy`.
    """
    with locked("build.lock"):
        _build(endpoint, log, _file(template))
    return _BUILD


def _build(endpoint: str, log: Path, file: Path) -> None:
    stamp = _BUILD / "sources.sha256"
    architectures = {name: value for name, value in _for_any_stack(file).items() if name == "Architecture"}
    current = digest(_sources(file), f"{architectures}{file}")
    if stamp.exists() and stamp.read_text() == current and (_BUILD / PACKED).exists():
        return
    stamp.unlink(missing_ok=True)
    _sam(endpoint, log, "build", *_BUILD_OPTIONS, "--template", str(file), *_given(architectures))
    packed(_BUILD)
    stamp.write_text(current)


def _sources(file: Path) -> list[Path]:
    """Return the inputs of a build.

    In another application: all of the template's folder except environments, hidden folders.
    """
    if has_application() and file.is_relative_to(ROOT):
        return [file, *(ROOT / name for name in _SOURCES)]
    left_out = {"node_modules", "__pycache__"}
    return [path for path in file.parent.iterdir() if not path.name.startswith(".") and path.name not in left_out]


def packed(built: Path) -> None:
    """Make `sam deploy` faster, which zips each function's folder separately.

    In the copies of the built templates, functions and layers with the same content share one archive.
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
    """Archive a folder; the same sources give the same archive."""
    archive = to / f"{digest(['.'], root=folder)}.zip"
    if not archive.exists():
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                made.writestr(zipfile.ZipInfo(str(path.relative_to(folder))), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return archive


def architecture() -> str:
    """Return Lambda's name of this machine's architecture. Raises LocalStackError if it has none."""
    machine = platform.machine().lower()
    if machine not in _ARCHITECTURES:
        raise LocalStackError(f"Lambda does not support this machine's architecture ({machine})")
    return _ARCHITECTURES[machine]


def digest(sources: Iterable[str | Path], salt: str = "", root: Path = ROOT) -> str:
    """Return the SHA-256 of files and folders below `root`, with their names."""
    digest = hashlib.sha256(salt.encode())
    for path in sorted(_files(root / source for source in sources)):
        digest.update(os.path.relpath(path, root).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _files(found: Iterable[Path]) -> list[Path]:
    files = [path for root in found for path in ([root] if root.is_file() else root.rglob("*"))]
    return [path for path in files if path.is_file() and "__pycache__" not in path.parts]


def resources(cloudformation: Any, stack: str = "stepwise") -> Iterator[dict[str, Any]]:
    """Yield every resource of a deployed stack and its nested stacks, as CloudFormation lists them."""
    for page in cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack):
        for one in page["StackResourceSummaries"]:
            if "PhysicalResourceId" not in one:
                # Its creation was cancelled.
                continue
            if one["ResourceType"] == _STACK:
                yield from resources(cloudformation, one["PhysicalResourceId"])
            else:
                yield one


@dataclass(frozen=True, slots=True)
class Failure:
    """A resource that failed during a stack's last operation. stack: the name of its nested stack, or of the root."""

    stack: str
    resource: str
    kind: str
    status: str
    reason: str


def failures(cloudformation: Any, stack: str) -> list[Failure]:
    """Return what failed during the last creation or update of a stack, the first failure first.

    The root's events say only which nested stack failed, so the nested stack's events count instead.
    stack: a name, or the id of a stack, which may be deleted.
    """
    found: list[Failure] = []
    for event in reversed(list(_last_operation(cloudformation, stack))):
        if not event["ResourceStatus"].endswith("_FAILED") or _is_own(event):
            continue
        physical_id, reason = event.get("PhysicalResourceId", ""), event.get("ResourceStatusReason", "")
        kind, nested = event["ResourceType"], physical_id.startswith("arn:") and event["ResourceType"] == _STACK
        if deeper := failures(cloudformation, physical_id) if nested else []:
            found += [one for one in deeper if one not in found]
        elif not reason.endswith(" cancelled"):
            name, status = event["StackName"], event["ResourceStatus"]
            found.append(Failure(name, event["LogicalResourceId"], kind, status, reason))
    return found


def _last_operation(cloudformation: Any, stack: str) -> Iterator[Any]:
    """Yield the events since the last creation or update began, the newest first."""
    for page in cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack):
        for event in page["StackEvents"]:
            yield event
            if _is_own(event) and event["ResourceStatus"] in {"CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS"}:
                return


def _is_own(event: Any) -> bool:
    """Return whether an event is about its stack as a whole."""
    return bool(event.get("PhysicalResourceId") == event["StackId"])


def sam_environment(endpoint: str, temporary: str | Path) -> dict[str, str]:
    """Return an environment in which the project's SAM CLI uses the local stack.

    temporary: a folder to remove afterward. sam leaves an empty folder there for each archive that it uploads.
    """
    return environment(endpoint) | {
        "PATH": _path(),
        "PYTHONPATH": str(Path(__file__).with_name("sam")),
        "TMPDIR": str(temporary),
        # sam writes settings of its own, and the home may be read-only.
        "__SAM_CLI_APP_DIR": str(temporary),
        # By default sam polls the stack's state every five seconds; a local stack is ready in two.
        "SAM_CLI_POLL_DELAY": "0.2",
    }


def _path() -> str:
    return os.pathsep.join([str(ROOT / ".venv-sam/bin"), str(ROOT / ".venv/bin"), os.environ["PATH"]])


def require(template: str | Path | None) -> None:
    """Raise LocalStackError if there is no template, or no SAM CLI: before anything is started."""
    _file(template)
    if not shutil.which("sam", path=_path()):
        raise LocalStackError("the SAM CLI is needed: install it, for example with `uv tool install aws-sam-cli`")


def _sam(endpoint: str, log: Path, command: str, *arguments: str) -> None:
    with log.open("a") as output, tempfile.TemporaryDirectory() as temporary:
        ended = subprocess.run(
            # An empty settings file, because the project's settings are for AWS.
            ["sam", command, "--config-file", _no_settings(), *arguments],
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


def _no_settings() -> Path:
    STATE.mkdir(exist_ok=True)
    file = STATE / "samconfig.toml"
    file.write_text("version = 0.1\n")
    return file
