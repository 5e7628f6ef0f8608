"""Stages of samconfig.toml, each a stack with its parameters, and the deployed stacks."""

import shlex
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from botocore.exceptions import ClientError

from stepwise.local.project import ROOT

from .names import apart

_BUILT = ".aws-sam/build"


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage. built: the folder in which `sam build` leaves the template. parameters: set by `sam deploy`, by name."""

    name: str
    stack_name: str
    region: str | None
    built: str = _BUILT
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deployed:
    """A stack as CloudFormation describes it. updated: the last change, or attempted change."""

    parameters: Mapping[str, str]
    status: str
    updated: str
    outputs: Mapping[str, str]


def deployed(cloudformation: Any, stack_name: str) -> Deployed | None:
    """Return the deployed stack; None if it does not exist. Raises botocore's errors."""
    try:
        stack = cloudformation.describe_stacks(StackName=stack_name)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    parameters = {one["ParameterKey"]: one["ParameterValue"] for one in stack.get("Parameters", [])}
    outputs = {one["OutputKey"]: one["OutputValue"] for one in stack.get("Outputs", [])}
    updated = stack.get("LastUpdatedTime", stack["CreationTime"])
    return Deployed(parameters, stack["StackStatus"], updated.isoformat(), outputs)


def stages() -> dict[str, Stage]:
    """Return all stages on AWS by name. Raises ValueError if the role of one could access another's resources."""
    configuration = tomllib.loads((ROOT / "samconfig.toml").read_text())
    tables = {name: body for name, body in configuration.items() if isinstance(body, dict)}
    found = {name: _stage(name, body) for name, body in tables.items() if "stack_name" in _parameters(body, "global")}
    for one, other in combinations((stage.stack_name for stage in found.values()), 2):
        if not apart(one, other):
            raise ValueError(f"{one} and {other}: a role for one could access the other's resources: docs/deploy.md")
    return found


def stage_of(stack_name: str) -> Stage:
    """Return the stage of this stack, or a stage without parameters."""
    found = (stage for stage in stages().values() if stage.stack_name == stack_name)
    return next(found, Stage("", stack_name, None))


def main(arguments: Sequence[str]) -> int:
    """Print the Region of the stage with this stack; nothing for another stack."""
    (stack_name,) = arguments
    sys.stdout.write(stage_of(stack_name).region or "")
    return 0


def pairs(overrides: str | list[str]) -> dict[str, str]:
    """Parse `NAME=VALUE` as `sam deploy` accepts it: a list, or one string with quotes. Raises ValueError otherwise."""
    found = shlex.split(overrides) if isinstance(overrides, str) else overrides
    if wrong := [pair for pair in found if "=" not in pair]:
        raise ValueError(f"{wrong[0]}: write NAME=VALUE")
    named = (pair.partition("=") for pair in found)
    return {name: value for name, _, value in named}


def _stage(name: str, body: Mapping[str, Any]) -> Stage:
    shared, build, deploy = (_parameters(body, command) for command in ("global", "build", "deploy"))
    return Stage(
        name,
        shared["stack_name"],
        shared.get("region"),
        build.get("build_dir", _BUILT),
        pairs(deploy.get("parameter_overrides", [])),
    )


def _parameters(body: Mapping[str, Any], command: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = body.get(command, {}).get("parameters", {})
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
