"""Functions of one nested stack that roles of another one may call, and both of their ARNs.

The function's stack gets two more outputs, the role's stack two more parameters: the function's ARN without and with
the alias.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .templates import FUNCTION, Template, of_type

UNQUALIFIED, QUALIFIED = "Unqualified", "Qualified"
_OUTPUTS = "Outputs."


@dataclass(frozen=True, slots=True)
class Crossing:
    """A role of `stack` allows calls of `parameter`: `function`, whose ARN is an `output` of the stack `source`."""

    stack: str
    parameter: str
    source: str
    output: str
    function: str


def crossings(root: Template, stacks: Mapping[str, Template]) -> list[Crossing]:
    """Return every call from one stack to a function of another. stacks: the nested templates by logical id."""
    return [
        Crossing(stack, parameter, source, output, function)
        for stack, template in stacks.items()
        for parameter, value in root["Resources"][stack]["Properties"].get("Parameters", {}).items()
        if parameter in set(_allowed(template))
        for source, output, function in _functions(value, stacks)
    ]


def parameters_of(stack: str, crossings: list[Crossing]) -> frozenset[str]:
    """Return the parameters of a stack that name functions of others."""
    return frozenset(one.parameter for one in crossings if one.stack == stack)


def connect(root: Template, stacks: Mapping[str, Template], crossings: list[Crossing]) -> None:
    """Add the outputs and parameters for both ARNs to templates whose functions have an alias."""
    for one in crossings:
        arns = {UNQUALIFIED: {"Fn::GetAtt": [one.function, "Arn"]}, QUALIFIED: {"Ref": f"{one.function}.Alias"}}
        given = root["Resources"][one.stack]["Properties"]["Parameters"]
        for suffix, arn in arns.items():
            stacks[one.source]["Outputs"][one.output + suffix] = {"Value": arn}
            stacks[one.stack]["Parameters"][one.parameter + suffix] = {"Type": "String"}
            given[one.parameter + suffix] = {"Fn::GetAtt": [one.source, _OUTPUTS + one.output + suffix]}


def _allowed(template: Template) -> Iterator[str]:
    """Yield the names in `!Ref` that the stack's roles allow as a resource."""
    for role in of_type(template, "AWS::IAM::Role").values():
        for policy in role.get("Policies", []):
            for statement in policy["PolicyDocument"]["Statement"]:
                yield from _references(statement.get("Resource"))


def _references(resource: Any) -> Iterator[str]:
    for one in resource if isinstance(resource, list) else [resource]:
        match one:
            case {"Ref": str(name)}:
                yield name


def _functions(value: Any, stacks: Mapping[str, Template]) -> Iterator[tuple[str, str, str]]:
    """Yield the stack, output and logical id of the function whose ARN a parameter gets, if any."""
    match value:
        case {"Fn::GetAtt": [str(source), str(path)]} if source in stacks and path.startswith(_OUTPUTS):
            output = path.removeprefix(_OUTPUTS)
            match stacks[source]["Outputs"][output]["Value"]:
                case {"Fn::GetAtt": [str(name), "Arn"]} if name in of_type(stacks[source], FUNCTION):
                    yield source, output, name
