"""Gradual deployment: the built template, with an alias for each function and CodeDeploy between two versions.

`make deploy-gradual` builds, applies this, and deploys. docs/gradual-deployment.md says when, and how to roll back.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError
from samtranslator.model.preferences.deployment_preference_collection import CODEDEPLOY_PREDEFINED_CONFIGURATIONS_LIST

from stepwise.local import terminal
from stepwise.local.deployment import digest, overrides
from stepwise.local.emulator.emulator import ROOT

from .application import nested, placed
from .crossings import QUALIFIED, UNQUALIFIED, connect, crossings, parameters_of
from .stages import Stage, deployed, pairs, stages
from .templates import FUNCTION, Template, dump, load, of_type

ALIAS = "live"
CANARY = "Canary10Percent10Minutes"
AT_ONCE = "AtOnce"
# Stacks whose functions CodeDeploy shifts gradually, one stack after the other; all other functions switch at once.
SHIFTED = ("Ordering",)
# The parameter that tells a nested stack the root's name.
ROOT_NAME = "RootStackName"
# CodeDeploy rolls back when one of these goes off, and does not start while one is on. All reset automatically.
ALARMS = ("SagaFailedAlarm", "SagaTimedOutAlarm", "RecoveryFailedAlarm", "FunctionsThrottledAlarm")
CODE_DEPLOY_ROLE = "CodeDeployRole"
# Without the state machines' definitions, which are not part of a function's version.
_SOURCES = ("template.yaml", "stacks", "functions", "layers")


def gradual(
    template: Template,
    release: str,
    shift: str = CANARY,
    *,
    leave: bool = False,
    elsewhere: frozenset[str] = frozenset(),
) -> Template:
    """Add an alias to each function of a template. CodeDeploy shifts the alias to a new `release`.

    release: a new value makes SAM publish versions, even if only a layer or a parameter changed.
    shift: how CodeDeploy shifts, or AT_ONCE for none.
    leave: callers of the alias call the function again, except SAM's events.
    elsewhere: the template's parameters that are ARNs of functions of other stacks; see `crossings`.
    Raises ValueError if a function's ARN is part of a string, where it cannot be replaced by the alias.
    """
    functions = frozenset(of_type(template, FUNCTION))
    resources = {name: _led(body, functions, elsewhere, leave=leave) for name, body in template["Resources"].items()}
    changed = {
        **template,
        "Resources": resources,
        "Outputs": _aliased(template.get("Outputs", {}), functions, leave=leave),
    }
    names = _names(template)
    for properties in of_type(changed, FUNCTION).values():
        properties |= {"AutoPublishAlias": ALIAS, "AutoPublishCodeSha256": release}
        properties |= {} if shift == AT_ONCE else {"DeploymentPreference": _preference(shift, names)}
    if functions and shift != AT_ONCE:
        resources[CODE_DEPLOY_ROLE] = _code_deploy_role(template)
    # By name, because a reference would be circular: alias, deployment group, alarm, state machine, alias.
    for alarm, name in zip(ALARMS, names, strict=True):
        if alarm in resources:
            resources[alarm]["Properties"]["AlarmName"] = name
    return changed


def write(
    built: Path, release: str, shift: str = CANARY, *, shifted: Collection[str] = SHIFTED, leave: bool = False
) -> Path:
    """Write copies of the built templates, with aliases, next to the originals. Returns the path of the root's copy.

    shifted: logical ids of the nested stacks whose functions CodeDeploy shifts.
    """
    root = load(built)
    places = nested(root)
    stacks = {name: load(built.parent / place) for name, place in places.items()}
    crossed = crossings(root, stacks)
    changed = {
        name: gradual(
            stack,
            release,
            shift if name in shifted else AT_ONCE,
            leave=leave,
            elsewhere=parameters_of(name, crossed),
        )
        for name, stack in stacks.items()
    }
    whole = gradual(root, release, shift, leave=leave)
    connect(whole, changed, crossed)
    for name, place in places.items():
        _beside(built.parent / place).write_text(dump(changed[name]))
    _beside(built).write_text(dump(placed(whole, {name: str(_beside(Path(place))) for name, place in places.items()})))
    return _beside(built)


def _beside(file: Path) -> Path:
    return file.with_name(f"gradual-{file.name}")


def deepest_chain(root: Template, counted: Collection[str]) -> list[str]:
    """Return the longest chain of nested stacks that CloudFormation updates one after the other, first to last.

    counted: the stacks that count towards the length; all others are omitted.
    """
    waits = {name: _sources(root["Resources"][name]) & set(nested(root)) for name in nested(root)}

    @cache
    def until(name: str) -> list[str]:
        before = max((until(other) for other in sorted(waits[name])), key=len, default=[])
        return [*before, name] if name in counted else before

    return max(map(until, waits), key=len, default=[])


def _sources(value: Any) -> set[str]:
    """Return the resources that a part of a template refers to or depends on."""
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]}:
            return {name}
        case dict():
            listed = value.get("DependsOn", [])
            explicit = {listed} if isinstance(listed, str) else set(listed)
            return explicit.union(*map(_sources, value.values()))
        case list():
            return set().union(*map(_sources, value))
    return set()


def minutes(shift: str) -> int:
    """Return the minutes that a CodeDeploy configuration takes, such as Linear10PercentEvery1Minute."""
    if found := re.fullmatch(r"Canary\d+Percent(\d+)Minutes", shift):
        return int(found[1])
    if found := re.fullmatch(r"Linear(\d+)PercentEvery(\d+)Minutes?", shift):
        return 100 // int(found[1]) * int(found[2])
    return 0


def release_of(template: Template, parameters: Mapping[str, str], attempt: str = "", root: Path = ROOT) -> str:
    """Hash that identifies a release: its sources, all parameters, and the previous attempt if that failed."""
    defaults = {name: str(body.get("Default", "")) for name, body in template["Parameters"].items()}
    effective = json.dumps({**defaults, **parameters}, sort_keys=True)
    return hashlib.sha256("\0".join([digest(_SOURCES, root=root), effective, attempt]).encode()).hexdigest()[:16]


def _names(template: Template) -> list[dict[str, str]]:
    root = ROOT_NAME if ROOT_NAME in template.get("Parameters", {}) else "AWS::StackName"
    return [{"Fn::Sub": f"${{{root}}}-{alarm}"} for alarm in ALARMS]


def _preference(shift: str, alarms: list[dict[str, str]]) -> dict[str, Any]:
    return {"Type": shift, "Alarms": alarms, "Role": {"Fn::GetAtt": [CODE_DEPLOY_ROLE, "Arn"]}}


def _code_deploy_role(template: Template) -> dict[str, Any]:
    """Return CodeDeploy's role with the permissions boundary of the other roles, which SAM would omit."""
    trusted = {"Effect": "Allow", "Principal": {"Service": "codedeploy.amazonaws.com"}, "Action": "sts:AssumeRole"}
    policy = "arn:${AWS::Partition}:iam::aws:policy/service-role/AWSCodeDeployRoleForLambda"
    roles = of_type(template, "AWS::IAM::Role").values()
    boundaries = [role["PermissionsBoundary"] for role in roles if "PermissionsBoundary" in role]
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [trusted]},
            "ManagedPolicyArns": [{"Fn::Sub": policy}],
            **({"PermissionsBoundary": boundaries[0]} if boundaries else {}),
        },
    }


def _led(
    body: Mapping[str, Any], functions: frozenset[str], elsewhere: frozenset[str], *, leave: bool
) -> dict[str, Any]:
    """Make a resource call the alias, or a role allow both: running executions keep their targets."""
    if body["Type"] == "AWS::IAM::Role":
        return dict(_allowed(body, functions, elsewhere))
    return dict(_aliased(body, functions, leave=leave))


def _aliased(value: Any, functions: frozenset[str], *, leave: bool) -> Any:
    match value:
        case {"Fn::GetAtt": [str(name), "Arn"]} if name in functions and not leave:
            return {"Ref": f"{name}.Alias"}
        case {"Fn::Sub": text} if wrong := [name for name in functions if f"${{{name}.Arn}}" in json.dumps(text)]:
            raise ValueError(f"write !GetAtt {wrong[0]}.Arn instead of !Sub, so that it can be replaced by the alias")
        case dict():
            return {key: _aliased(inner, functions, leave=leave) for key, inner in value.items()}
        case list():
            return [_aliased(inner, functions, leave=leave) for inner in value]
    return value


def _allowed(value: Any, functions: frozenset[str], elsewhere: frozenset[str]) -> Any:
    match value:
        case {"Resource": resource}:
            listed = resource if isinstance(resource, list) else [resource]
            arns = [_arns(one, functions, elsewhere) for one in listed]
            both = [first for first, *_ in arns] + [alias for _, *aliases in arns for alias in aliases]
            return {**value, "Resource": both} if len(both) > len(listed) else value
        case dict():
            return {key: _allowed(inner, functions, elsewhere) for key, inner in value.items()}
        case list():
            return [_allowed(inner, functions, elsewhere) for inner in value]
    return value


def _arns(resource: Any, functions: frozenset[str], elsewhere: frozenset[str]) -> list[Any]:
    """Return a function's ARN without and with the alias, or the resource alone."""
    match resource:
        case {"Ref": str(name)} if name in elsewhere:
            return [{"Ref": name + UNQUALIFIED}, {"Ref": name + QUALIFIED}]
    alias = _aliased(resource, functions, leave=False)
    return [resource] if alias == resource else [resource, alias]


def deploy(
    stage: Stage, shift: str, given: Mapping[str, str], *, shifted: Collection[str] = SHIFTED, leave: bool = False
) -> int:
    """Build, and deploy with these parameters. Returns the exit status of `sam`."""
    said = {**stage.parameters, **given}
    standing, attempt = _standing(stage)
    if shift != AT_ONCE and {**standing, **said}.get("Monitoring") == "false":
        raise ValueError("CodeDeploy needs the alarms: deploy with Monitoring=true, or with SHIFT=AtOnce")
    if status := _sam("build", stage):
        return status
    built = ROOT / stage.built / "template.yaml"
    release = release_of(load(built), {**standing, **said}, attempt)
    file = write(built, release, shift, shifted=shifted, leave=leave)
    if shift != AT_ONCE:
        chain = deepest_chain(load(built), shifted)
        sys.stdout.write(f"CodeDeploy takes {minutes(shift) * len(chain)} minutes to shift {', then '.join(chain)}\n")
        sys.stdout.flush()
    chosen = ["--parameter-overrides", *overrides(said)] if said else []
    return _sam("deploy", stage, "--template-file", str(file), *chosen)


def _standing(stage: Stage) -> tuple[Mapping[str, str], str]:
    """Return the stack's parameters, and the time of its last deployment if CodeDeploy rolled that back.

    The versions of a failed attempt stay, and Lambda publishes no version that equals the last one, so a release must
    differ when it is tried again.
    """
    stack = deployed(boto3.client("cloudformation", region_name=stage.region), stage.stack_name)
    if stack is None:
        return {}, ""
    return stack.parameters, stack.updated if stack.status.endswith("ROLLBACK_COMPLETE") else ""


def _sam(command: str, stage: Stage, *arguments: str) -> int:
    # Otherwise sam looks for its configuration beside the template.
    configuration = ["--config-file", str(ROOT / "samconfig.toml"), "--config-env", stage.name]
    # sam leaves its folders for nested templates behind.
    with tempfile.TemporaryDirectory() as temporary:
        environment = {**os.environ, "TMPDIR": temporary}
        called = ["sam", command, *configuration, *arguments]
        return subprocess.run(called, cwd=ROOT, env=environment, check=False).returncode


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make deploy-gradual", description=__doc__)
    parser.add_argument("stage", choices=stages())
    parser.add_argument("parameters", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--shift", choices=[*CODEDEPLOY_PREDEFINED_CONFIGURATIONS_LIST, AT_ONCE], default=CANARY)
    parser.add_argument("--stacks", default=" ".join(SHIFTED), help="nested stacks that CodeDeploy shifts")
    parser.add_argument("--leave", action="store_true", help="the first step towards a deployment without aliases")
    chosen = parser.parse_intermixed_args(arguments)
    shifted = chosen.stacks.split()
    if unknown := set(shifted) - set(nested(load(ROOT / "template.yaml"))):
        parser.error(f"--stacks: template.yaml has no nested stack {', '.join(sorted(unknown))}")
    try:
        return deploy(
            stages()[chosen.stage], chosen.shift, pairs(chosen.parameters), shifted=shifted, leave=chosen.leave
        )
    except (BotoCoreError, ClientError, ValueError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    terminal.install()
    sys.exit(main(sys.argv[1:]))
