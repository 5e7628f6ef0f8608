"""Describes resources and state machines so that a new stack, logical id, parameter or placeholder changes nothing.

A reference becomes the type of its target and a name that the target has anyway: the handler of a function, the name
of a log group, the root's output that names a table. A resource without any is described by a digest of its content.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any

from tests.kit.machine import MACHINES
from tests.kit.template import TEMPLATE, listed

type Body = dict[str, Any]

_FUNCTION, _MACHINE = "AWS::Serverless::Function", "AWS::StepFunctions::StateMachine"
# Resources with a name, which name others by their use.
_USERS = {_FUNCTION, _MACHINE, "AWS::SQS::Queue", "AWS::SNS::Topic"}
# Properties that name a resource or its owner; the first one present counts.
_NAMES = (
    *("ContentUri", "LogGroupName", "QueueName", "TopicName", "RoleName", "DashboardName", "Name", "AlarmDescription"),
    *("Bucket", "Queues", "TopicArn", "ApiId", "FunctionName"),
)
# They change on purpose while modules move, so they have a separate file.
_CODE = ("Handler", "CodeUri", "ContentUri")
# IAM reads these lists in any order, and a single value as a list.
_UNORDERED = {"Action", "NotAction", "Resource", "Statement"}
_PLACEHOLDER = re.compile(r"\$\{([^}!]+)\}")


class Templates:
    """The application as one template, as `stepwise.deployment.application.flat` returns it."""

    def __init__(self, template: Mapping[str, Any] = TEMPLATE) -> None:
        self.template = template
        self.resources: dict[str, Body] = template["Resources"]
        self.describe = cache(self._describe)

    def frozen(self) -> dict[str, Any]:
        """The resources of each type by description; what names code; the root's parameters, rules and outputs."""
        found: dict[str, Any] = defaultdict(lambda: defaultdict(list))
        for name, body in self.resources.items():
            found[body["Type"].replace("::", ".")][self.describe(name)].append(self._without_code(body))
            found["handlers"][self.describe(name)] += [code] if (code := _code(body)) else []
        for same in (same for of_type in found.values() for same in of_type.values()):
            same.sort(key=_text)
        found["handlers"] = {name: code for name, code in found["handlers"].items() if code}
        return found | {name: self._described(self.template[name]) for name in ("Parameters", "Rules", "Outputs")}

    def definitions(self) -> dict[str, Any]:
        """Each state machine by the name of its file; a placeholder becomes the description of its value."""
        return {one.path.stem: self._filled(one.definition, one.substitutions) for one in MACHINES.values()}

    # Names

    def _describe(self, logical_id: str) -> str:
        body = self.resources[logical_id]
        kind = body["Type"].rpartition("::")[2]
        name = self._name(logical_id) or min(self._uses[logical_id], default="") or self._digest(body)
        return f"{kind} {name}"

    def _name(self, logical_id: str) -> str:
        """The name that a resource has, or the shortest of the root's outputs that have it as their value."""
        body = self.resources[logical_id]
        properties = body.get("Properties", {})
        if body["Type"] == _FUNCTION:
            return str(properties["Handler"]).rpartition(".")[2]
        if named := next((properties[name] for name in _NAMES if name in properties), None):
            return _text(self._described(named))
        values = {name: output["Value"] for name, output in self.template["Outputs"].items()}
        outputs = [name for name, value in values.items() if self._target(value) == logical_id]
        return min(outputs, key=lambda name: (len(name), name), default="")

    @cached_property
    def _uses(self) -> Mapping[str, set[str]]:
        """The uses of each resource by those with a name: such as a variable of functions, or the role of one."""
        found = defaultdict[str, set[str]](set)
        for logical_id, body in self.resources.items():
            if name := self._name(logical_id) if body["Type"] in _USERS else "":
                for path, target in self._references(body["Properties"]):
                    found[target].add(path if path.isupper() else f"{path} of {name}")
        return found

    def _references(self, value: Any, path: str = "") -> Iterator[tuple[str, str]]:
        """Every plain reference to a resource, with the name of the property that holds it."""
        if target := self._target(value):
            yield path, target
        elif isinstance(value, dict):
            for key, inner in value.items():
                yield from self._references(inner, path if key.startswith("Fn::") else key)
        elif isinstance(value, list):
            for inner in value:
                yield from self._references(inner, path)

    def _target(self, value: Any) -> str:
        match value:
            case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), str()]} if name in self.resources:
                return name
        return ""

    def _digest(self, body: Body) -> str:
        """A digest of the properties, with the types of what they refer to, which may refer back."""
        text = re.sub(r"\w+", lambda word: self.resources.get(word[0], {"Type": word[0]})["Type"], _text(body))
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def _named(self, name: str) -> str:
        """The description of a resource, or of one that SAM generates, such as the rule of a function's event."""
        if name in self.resources or name in self.template["Parameters"]:
            return self.describe(name) if name in self.resources else name
        maker = max((one for one in self.resources if name.startswith(one)), key=len, default="")
        return f"{self.describe(maker)} {name.removeprefix(maker)}" if maker else name

    # Values

    def _without_code(self, body: Body) -> Body:
        properties = body.get("Properties", {})
        if body["Type"] == _FUNCTION:
            properties = _merged(self.template["Globals"]["Function"], properties)
        left_out = {*_CODE, *(["DefinitionSubstitutions"] if body["Type"] == _MACHINE else [])}
        more = {name: value for name, value in body.items() if name not in {"Metadata", "Properties", "DependsOn"}}
        if "DependsOn" in body:
            more["DependsOn"] = sorted(map(self.describe, listed(body["DependsOn"])))
        if "Condition" in body:
            more["Condition"] = self.template["Conditions"][body["Condition"]]
        kept = {name: value for name, value in properties.items() if name not in left_out}
        return {**self._described(more), "Properties": self._described(kept)}

    def _described(self, value: Any) -> Any:
        """A value with descriptions instead of logical ids, and with conditions written out."""
        match value:
            case {"Ref": str(name)}:
                return {"Ref": self._named(name)}
            case {"Fn::GetAtt": [str(name), str(attribute)]}:
                return {"Fn::GetAtt": [self._named(name), attribute]}
            case {"Condition": str(name)}:
                return self._described(self.template["Conditions"][name])
            case {"Fn::If": [str(condition), *ways]}:
                return {"Fn::If": [self._described(one) for one in ({"Condition": condition}, *ways)]}
            case {"Fn::Sub": str(text)}:
                return {"Fn::Sub": _PLACEHOLDER.sub(self._placeholder, text)}
            case dict():
                return {key: _in_any_order(key, self._described(inner)) for key, inner in value.items()}
            case list():
                return [self._described(inner) for inner in value]
        return value

    def _placeholder(self, found: re.Match[str]) -> str:
        name, dot, attribute = found[1].partition(".")
        return f"${{{self._named(name)}{dot}{attribute}}}"

    def _filled(self, value: Any, substitutions: Mapping[str, Any]) -> Any:
        match value:
            case str():
                return _PLACEHOLDER.sub(lambda found: f"<{_text(self._described(substitutions[found[1]]))}>", value)
            case dict():
                return {key: self._filled(inner, substitutions) for key, inner in value.items()}
            case list():
                return [self._filled(inner, substitutions) for inner in value]
        return value


def _code(body: Body) -> Body:
    properties = body.get("Properties", {})
    code = {name: properties[name] for name in _CODE if name in properties}
    return code | ({"Metadata": body["Metadata"]} if "Metadata" in body else {})


def _merged(general: Any, own: Any) -> Any:
    """Globals merged with a function's own value, as SAM does it."""
    if isinstance(general, dict) and isinstance(own, dict):
        both = {name: _merged(general[name], own[name]) for name in general.keys() & own.keys()}
        return {**general, **own, **both}
    return [*general, *own] if isinstance(general, list) and isinstance(own, list) else own


def _in_any_order(key: str, value: Any) -> Any:
    return sorted(listed(value), key=_text) if key in _UNORDERED else value


def _text(value: Any) -> str:
    """A value in one line: a reference as its target, anything else as JSON."""
    match value:
        case str(text) | {"Ref": str(text)} | {"Fn::Sub": str(text)}:
            return text
        case [inner]:
            return _text(inner)
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return f"{name}.{attribute}"
    return json.dumps(value, sort_keys=True)
