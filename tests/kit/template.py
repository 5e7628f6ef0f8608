"""template.yaml with its nested stacks, or the file in `TEMPLATE`, read without deployment tools."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from stepwise.deployment.application import flat
from stepwise.deployment.templates import DEFINITION, MACHINE, SAM_DEFINITION, SAM_MACHINE
from tests.kit.project import ROOT

PATH = ROOT / os.environ.get("TEMPLATE", "template.yaml")
# CloudFormation's names of a state machine's properties, by SAM's names.
_OF_MACHINES = {
    SAM_DEFINITION: DEFINITION,
    "Logging": "LoggingConfiguration",
    "Name": "StateMachineName",
    "Role": "RoleArn",
    "Tracing": "TracingConfiguration",
}


def _read() -> dict[str, Any]:
    """Read the template, with SAM's state machines converted to CloudFormation's type."""
    template = flat(PATH)
    for body in template["Resources"].values():
        if body["Type"] == SAM_MACHINE:
            body["Type"] = MACHINE
            body["Properties"] = {_OF_MACHINES.get(name, name): value for name, value in body["Properties"].items()}
    return template


TEMPLATE = _read()
RESOURCES: dict[str, dict[str, Any]] = TEMPLATE["Resources"]


@cache
def of_type(kind: str) -> dict[str, dict[str, Any]]:
    """The properties of all resources of a type, by logical id."""
    return {name: body.get("Properties", {}) for name, body in RESOURCES.items() if body["Type"] == kind}


def arn_of(value: Any) -> str | None:
    """The logical id in `!GetAtt X.Arn` or `!Ref X`."""
    match value:
        case {"Fn::GetAtt": [str(name), "Arn"]} | {"Ref": str(name)}:
            return name
    return None


def snake_case(name: str) -> str:
    """A state's name in the form of its handler's name."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def listed(value: Any) -> list[Any]:
    """A value that IAM accepts alone or in a list, as a list."""
    return value if isinstance(value, list) else [value]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a role's own policies. role: its logical id."""

    role: str
    actions: tuple[str, ...]
    resources: tuple[Any, ...]

    @property
    def services(self) -> set[str]:
        return {action.partition(":")[0] for action in self.actions}


def statements(role: str) -> Iterator[Statement]:
    """The statements of a role, including those under a condition."""
    for policy in of_type("AWS::IAM::Role")[role]["Policies"]:
        for entry in policy["PolicyDocument"]["Statement"]:
            body = entry["Fn::If"][1] if "Fn::If" in entry else entry
            resource = body["Resource"]
            resources = resource["Fn::If"][1:] if "Fn::If" in resource else listed(resource)
            yield Statement(role, tuple(listed(body["Action"])), tuple(resources))


def allowed(role: str, action: str) -> list[Any]:
    """The resources on which a role may do the action."""
    return [resource for body in statements(role) if action in body.actions for resource in body.resources]


@dataclass(frozen=True, slots=True)
class Function:
    """A Lambda function, with its Globals. name: its logical id."""

    name: str
    properties: Mapping[str, Any]

    @property
    def state(self) -> str:
        """The name of its state."""
        return self.name.removesuffix("Function")

    @property
    def module(self) -> str:
        return str(self.properties["Handler"]).rpartition(".")[0]

    @property
    def handler(self) -> str:
        return str(self.properties["Handler"]).rpartition(".")[2]

    @property
    def variables(self) -> set[str]:
        return {*_GLOBALS["Environment"]["Variables"], *self._own("Environment").get("Variables", {})}

    @property
    def timeout(self) -> int:
        return int(self.properties.get("Timeout", _GLOBALS["Timeout"]))

    @property
    def log_group(self) -> str | None:
        return arn_of(self._own("LoggingConfig").get("LogGroup"))

    @property
    def role(self) -> str | None:
        return arn_of(self.properties.get("Role"))

    def _own(self, name: str) -> dict[str, Any]:
        return dict(self.properties.get(name, {}))


_GLOBALS: dict[str, Any] = TEMPLATE["Globals"]["Function"]
FUNCTIONS: dict[str, Function] = {
    name: Function(name, properties) for name, properties in of_type("AWS::Serverless::Function").items()
}
HANDLERS = sorted({function.handler for function in FUNCTIONS.values()})


@cache
def handler_of(event: str) -> str | None:
    """The handler whose name starts the name of a sample event: the longest, if there are several."""
    fitting = [handler for handler in HANDLERS if re.fullmatch(rf"{handler}(_\w+)?", event)]
    return max(fitting, key=len, default=None)
