"""Resolves the intrinsic functions of a translated template, before any resource has a name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import boto3

from stepwise.deployment import names
from stepwise.deployment.templates import Template

_UUID = "12345678-1234-1234-1234-123456789012"
# The position of a resource's name in its ARN; `{service}:{region}:{account}:{name}` for the others.
_ARNS = {
    "AWS::DynamoDB::Table": "dynamodb:{region}:{account}:table/{name}",
    "AWS::Events::Rule": "events:{region}:{account}:rule/{name}",
    "AWS::IAM::Role": "iam::{account}:role/{name}",
    "AWS::KMS::Key": "kms:{region}:{account}:key/" + _UUID,
    "AWS::Lambda::Alias": "lambda:{region}:{account}:function:{name}",
    "AWS::Lambda::Function": "lambda:{region}:{account}:function:{name}",
    "AWS::Lambda::LayerVersion": "lambda:{region}:{account}:layer:{name}:1",
    "AWS::Logs::LogGroup": "logs:{region}:{account}:log-group:{name}:*",
    "AWS::S3::Bucket": "s3:::{name}",
    "AWS::SecretsManager::Secret": "secretsmanager:{region}:{account}:secret:{name}-Ab12Cd",
    "AWS::StepFunctions::StateMachine": "states:{region}:{account}:stateMachine:{name}",
}
# Property with the resource's name, by type.
_NAMED = {
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::CloudWatch::Dashboard": "DashboardName",
    "AWS::IAM::Role": "RoleName",
    "AWS::Lambda::LayerVersion": "LayerName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::SQS::Queue": "QueueName",
    "AWS::StepFunctions::StateMachine": "StateMachineName",
}
_REF_IS_ARN = {
    "AWS::Lambda::Alias",
    "AWS::Lambda::LayerVersion",
    "AWS::Lambda::Version",
    "AWS::SecretsManager::Secret",
    "AWS::SNS::Topic",
    "AWS::StepFunctions::StateMachine",
}


class Unresolved(ValueError):
    """This module cannot resolve a value of the template."""


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves values. template: translated. parameters: every parameter's value.

    pseudo: `AWS::Region` and the like.
    """

    template: Template
    parameters: Mapping[str, str]
    pseudo: Mapping[str, str]

    @classmethod
    def to(cls, template: Template, region: str, account: str, stack_name: str, given: Mapping[str, str]) -> "Resolver":
        """Create a resolver for an account's Region. given: parameters that differ from their defaults."""
        defaults = {name: str(body.get("Default", "")) for name, body in template.get("Parameters", {}).items()}
        pseudo = {
            "AWS::AccountId": account,
            "AWS::Partition": boto3.Session().get_partition_for_region(region),
            "AWS::Region": region,
            "AWS::StackId": f"arn:aws:cloudformation:{region}:{account}:stack/{stack_name}/{_UUID}",
            "AWS::StackName": stack_name,
            "AWS::URLSuffix": "amazonaws.com",
        }
        return cls(template, {**defaults, **given}, pseudo)

    def resources(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return the resolved properties of all resources of a type whose condition holds, by logical id."""
        return {
            name: self.resolve(body.get("Properties", {}))
            for name, body in self.template["Resources"].items()
            if body["Type"] == kind and ("Condition" not in body or self.holds(body["Condition"]))
        }

    def resolve(self, value: Any) -> Any:
        """Resolve a value. Raises Unresolved. `AWS::NoValue` removes its item from a list or a mapping."""
        match value:
            case {"Ref": str(name)}:
                return self._ref(name)
            case dict() if len(value) == 1 and next(iter(value)).startswith("Fn::"):
                ((name, argument),) = value.items()
                return self._carried_out(name, argument)
            case dict():
                return {key: inner for key, one in value.items() if (inner := self.resolve(one)) is not None}
            case list():
                return [inner for one in value if (inner := self.resolve(one)) is not None]
        return value

    def _carried_out(self, name: str, argument: Any) -> Any:
        match name, argument:
            case "Fn::GetAtt", [str(resource), str(attribute)]:
                return self._attribute(resource, attribute)
            case "Fn::If", [str(condition), yes, no]:
                return self.resolve(yes if self.holds(condition) else no)
            case "Fn::Sub", [str(text), dict(own)]:
                return self._sub(text, self.resolve(own))
            case "Fn::Sub", str(text):
                return self._sub(text, {})
            case "Fn::Join", [str(separator), parts]:
                return separator.join(map(str, self.resolve(parts)))
            case "Fn::Select", [index, parts]:
                return self.resolve(parts)[int(index)]
            case "Fn::Split", [str(separator), text]:
                return str(self.resolve(text)).split(separator)
        raise Unresolved(f"{name}: add its value to {__name__}")

    def holds(self, condition: Any) -> bool:
        """True if a condition holds, given by its name or written out. Raises Unresolved."""
        match condition:
            case str(name) | {"Condition": str(name)}:
                return self.holds(self.template["Conditions"][name])
            case {"Fn::Not": [inner]}:
                return not self.holds(inner)
            case {"Fn::And": list(inner)}:
                return all(self.holds(one) for one in inner)
            case {"Fn::Or": list(inner)}:
                return any(self.holds(one) for one in inner)
            case {"Fn::Equals": [left, right]}:
                return str(self.resolve(left)) == str(self.resolve(right))
        raise Unresolved(f"{condition}: add to {__name__} when it holds")

    def _ref(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return None
        for known in (self.pseudo, self.parameters):
            if name in known:
                return known[name]
        if name not in self.template["Resources"]:
            raise Unresolved(f"{name} is neither a parameter nor a resource")
        return self._attribute(name, "Arn") if self._kind(name) in _REF_IS_ARN else self.name(name)

    def _attribute(self, name: str, attribute: str) -> str:
        # The id of a secret is its ARN.
        if not attribute.endswith("Arn") and (attribute != "Id" or self._kind(name) not in _REF_IS_ARN):
            return self.name(name)
        pattern = _ARNS.get(self._kind(name), "{service}:{region}:{account}:{name}")
        end = pattern.format(
            service=self._kind(name).split("::")[1].lower(),
            region=self.pseudo["AWS::Region"],
            account=self.pseudo["AWS::AccountId"],
            name=self.name(name),
        )
        stream = "/stream/2026-01-01T00:00:00.000" if attribute == "StreamArn" else ""
        return f"arn:{self.pseudo['AWS::Partition']}:{end}{stream}"

    def name(self, name: str) -> str:
        """Return a resource's name: the name in the template, or one like CloudFormation's."""
        body = self.template["Resources"][name]
        if body["Type"] == "AWS::Lambda::Alias":
            return f"{self.resolve(body['Properties']['FunctionName'])}:{body['Properties']['Name']}"
        if given := body.get("Properties", {}).get(_NAMED.get(body["Type"])):
            return str(self.resolve(given))
        if body["Type"] in names.LIMITS:
            return names.generated(body["Type"], self.pseudo["AWS::StackName"], name)
        # A secret's name does not contain the stack name.
        stack = "" if body["Type"] == "AWS::SecretsManager::Secret" else f"{self.pseudo['AWS::StackName']}-"
        return f"{stack}{name}-1A2B3C4D5E6F"

    def _kind(self, name: str) -> str:
        return str(self.template["Resources"][name]["Type"])

    def _sub(self, text: str, own: Mapping[str, Any]) -> str:
        return re.sub(r"\$\{([^}!]+)\}", lambda match: str(self._named(match[1], own)), text)

    def _named(self, reference: str, own: Mapping[str, Any]) -> Any:
        if reference in own:
            return own[reference]
        name, _, attribute = reference.partition(".")
        return self._attribute(name, attribute) if attribute else self._ref(name)
