"""template.yaml resolved into one process: physical names, environment, definitions, tables."""

import importlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import getitem
from typing import Any

from tests.kit.machine import MACHINES
from tests.kit.template import FUNCTIONS, RESOURCES, TEMPLATE, of_type

REGION = "us-east-1"
ACCOUNT = "000000000000"

_PSEUDO = {
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::AccountId": ACCOUNT,
    "AWS::StackName": "stepwise",
    "AWS::StackId": f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/stepwise/5f3c1e9a-0000-4000-8000-000000000000",
    "AWS::NoValue": None,
}
_ARNS = {
    "AWS::Serverless::Function": "arn:aws:lambda:{region}:{account}:function:{name}",
    "AWS::StepFunctions::StateMachine": "arn:aws:states:{region}:{account}:stateMachine:{name}",
    "AWS::SNS::Topic": "arn:aws:sns:{region}:{account}:{name}",
    "AWS::SQS::Queue": "arn:aws:sqs:{region}:{account}:{name}",
    "AWS::DynamoDB::Table": "arn:aws:dynamodb:{region}:{account}:table/{name}",
    "AWS::S3::Bucket": "arn:aws:s3:::{name}",
    "AWS::KMS::Key": "arn:aws:kms:{region}:{account}:key/{name}",
    "AWS::SecretsManager::Secret": "arn:aws:secretsmanager:{region}:{account}:secret:{name}",
    "AWS::Logs::LogGroup": "arn:aws:logs:{region}:{account}:log-group:{name}:*",
}
# `!Ref` returns the ARN of these, and the name of others.
_REF_IS_ARN = {"AWS::StepFunctions::StateMachine", "AWS::SNS::Topic"}
_NOT_FOR_CREATION = {
    *("TimeToLiveSpecification", "SSESpecification", "PointInTimeRecoverySpecification", "Tags"),
    "DeletionProtectionEnabled",
}

type Handler = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """An EventBridge rule of the template. function: its target. retries: after a failure.

    paths, template: of its input transformer; empty if the function gets the whole event.
    """

    function: str
    pattern: str
    retries: int
    paths: Mapping[str, str]
    template: str

    def delivered(self, event: dict[str, Any]) -> Any:
        """The function's input for an event."""
        text = self.template or json.dumps(event)
        for name, path in self.paths.items():
            text = text.replace(f"<{name}>", json.dumps(reduce(getitem, path.split(".")[1:], event)))
        return json.loads(text)


@dataclass(frozen=True, slots=True)
class Stack:
    """A resolved stack. prefix: of each table's name, so that several explorers may share one DynamoDB.

    parameters: template parameters that differ from their defaults.
    """

    prefix: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)

    def name(self, logical_id: str) -> str:
        match self._kind(logical_id):
            case "AWS::DynamoDB::Table":
                return self.prefix + logical_id
            case "AWS::S3::Bucket":
                return logical_id.lower()
        return logical_id

    def arn(self, logical_id: str) -> str:
        return _ARNS[self._kind(logical_id)].format(region=REGION, account=ACCOUNT, name=self.name(logical_id))

    def resolve(self, value: Any) -> Any:
        """A value of the template with its intrinsic functions resolved."""
        match value:
            case {"Ref": str(name)}:
                return self._ref(name)
            case {"Fn::GetAtt": [str(name), str(attribute)]}:
                return self._attribute(name, attribute)
            case {"Fn::If": [str(condition), yes, no]}:
                return self.resolve(yes if self._holds(TEMPLATE["Conditions"][condition]) else no)
            case {"Fn::Join": [str(delimiter), parts]}:
                return delimiter.join(self.resolve(parts))
            case {"Fn::Split": [str(delimiter), text]}:
                return self.resolve(text).split(delimiter)
            case {"Fn::Sub": str(text)}:
                return self._with_logical_ids(self._filled(text))
            case dict():
                return {key: self.resolve(inner) for key, inner in value.items()}
            case list():
                return [self.resolve(inner) for inner in value]
        return value

    def environment(self, functions: Iterable[str] = FUNCTIONS) -> dict[str, str]:
        """The merged variables of these functions. Raises ValueError if two of them disagree on one."""
        variables: dict[str, str] = {}
        own = [FUNCTIONS[name].properties.get("Environment", {}).get("Variables", {}) for name in functions]
        for environment in [TEMPLATE["Globals"]["Function"]["Environment"]["Variables"], *own]:
            for name, value in self.resolve(environment).items():
                if value is not None and variables.setdefault(name, str(value)) != str(value):
                    raise ValueError(f"functions differ in {name}")
        return variables

    def definition(self, machine: str) -> dict[str, Any]:
        """A state machine's definition with its placeholders filled in."""
        text = MACHINES[machine].path.read_text()
        for placeholder, value in MACHINES[machine].substitutions.items():
            text = text.replace(f"${{{placeholder}}}", str(self.resolve(value)))
        definition: dict[str, Any] = json.loads(text)
        return definition

    def tables(self) -> Iterator[dict[str, Any]]:
        """The parameters of CreateTable for each table."""
        for logical_id, properties in of_type("AWS::DynamoDB::Table").items():
            wanted = {key: value for key, value in properties.items() if key not in _NOT_FOR_CREATION}
            if "StreamSpecification" in wanted:
                wanted["StreamSpecification"] = {"StreamEnabled": True, **wanted["StreamSpecification"]}
            yield {"TableName": self.name(logical_id), **self.resolve(wanted)}

    def rules(self) -> Iterator[Rule]:
        """The rules that invoke a function for events of the saga."""
        for name, function in FUNCTIONS.items():
            retries = function.properties.get("EventInvokeConfig", {}).get("MaximumRetryAttempts", 2)
            for event in function.properties.get("Events", {}).values():
                if event["Type"] in {"EventBridgeRule", "CloudWatchEvent"}:
                    pattern = json.dumps(self.resolve(event["Properties"]["Pattern"]))
                    transformer = event["Properties"].get("InputTransformer", {})
                    paths, template = transformer.get("InputPathsMap", {}), transformer.get("InputTemplate", "")
                    yield Rule(name, pattern, retries, paths, template)

    def handlers(self, functions: Iterable[str]) -> dict[str, Handler]:
        """The handlers of these functions, by logical id, imported as Lambda imports them."""
        return {name: _handler(FUNCTIONS[name].properties["Handler"]) for name in functions}

    def _filled(self, text: str) -> str:
        return re.sub(r"\$\{([^}]+)\}", lambda match: str(self._named(match[1])), text)

    def _with_logical_ids(self, text: str) -> str:
        """Replace the names of machines in ARNs by their logical ids, as `arn` has them."""
        for name, properties in of_type("AWS::StepFunctions::StateMachine").items() if ":states:" in text else ():
            match properties.get("StateMachineName"):
                case {"Fn::Sub": str(given)}:
                    machine = re.escape(self._filled(given))
                    text = re.sub(rf"(:stateMachine:|:execution:){machine}(?![\w-])", rf"\1{name}", text)
        return text

    def _kind(self, logical_id: str) -> str:
        return str(RESOURCES[logical_id]["Type"])

    def _attribute(self, name: str, attribute: str) -> str:
        is_arn = attribute == "Arn" or (self._kind(name), attribute) == ("AWS::SecretsManager::Secret", "Id")
        return self.arn(name) if is_arn else self.name(name)

    def _holds(self, condition: Any) -> bool:
        match condition:
            case {"Fn::Not": [inner]}:
                return not self._holds(inner)
            case {"Fn::Or": parts}:
                return any(map(self._holds, parts))
            case {"Condition": str(name)}:
                return self._holds(TEMPLATE["Conditions"][name])
            case {"Fn::Equals": [left, right]}:
                return bool(self.resolve(left) == self.resolve(right))
        raise ValueError(f"not known: {condition}")

    def _ref(self, name: str) -> Any:
        if name in self.parameters:
            return self.parameters[name]
        if name in _PSEUDO:
            return _PSEUDO[name]
        if name in TEMPLATE["Parameters"]:
            return TEMPLATE["Parameters"][name]["Default"]
        return self.arn(name) if self._kind(name) in _REF_IS_ARN else self.name(name)

    def _named(self, reference: str) -> Any:
        name, _, attribute = reference.partition(".")
        if not attribute:
            return self._ref(name)
        return self.resolve({"Fn::GetAtt": [name, attribute]})


def _handler(path: str) -> Handler:
    module, _, name = path.rpartition(".")
    handler: Handler = getattr(importlib.import_module(module), name)
    return handler
