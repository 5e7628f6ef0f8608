"""The deployed handlers, as template.yaml names them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from local.emulator.emulator import ROOT
from operations.stack import STACK_NAME


class _Loader(yaml.SafeLoader):
    """YAML with CloudFormation's tags as plain text: `!Ref Orders` is "Orders". Options of the template are off."""


def _otherwise(loader: Any, node: Any) -> str | None:
    value = str(loader.construct_sequence(node)[2])
    return None if value == "AWS::NoValue" else value


_Loader.add_constructor("!If", _otherwise)


def _plain(_loader: Any, _tag: str, node: Any) -> str:
    return str(node.value).replace("${AWS::StackName}", STACK_NAME).replace("${AWS::AccountId}", "000000000000")


_Loader.add_multi_constructor("!", _plain)


@dataclass(frozen=True, slots=True)
class Deployed:
    """function: its logical id. target: module.handler. variables: its environment, with names where AWS has ARNs."""

    function: str
    target: str
    variables: Mapping[str, str]

    @property
    def handler(self) -> str:
        return self.target.rpartition(".")[2]

    @property
    def event(self) -> Path:
        """The sample event that it is called with, the plain one."""
        return min((ROOT / "events").rglob(f"{self.handler}*.json"), key=lambda path: len(path.name))


def handlers() -> list[Deployed]:
    """Every function of the template, in its order."""
    template = _Loader((ROOT / "template.yaml").read_text()).get_single_data()
    shared = template["Globals"]["Function"]["Environment"]["Variables"]
    return [
        Deployed(name, body["Properties"]["Handler"], _variables(template, {**shared, **_own(body)}))
        for name, body in template["Resources"].items()
        if body["Type"] == "AWS::Serverless::Function"
    ]


def _own(body: Mapping[str, Any]) -> dict[str, Any]:
    return dict(body["Properties"].get("Environment", {}).get("Variables", {}))


def _variables(template: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, str]:
    parameters = template["Parameters"]
    return {
        name: str(parameters.get(str(value), {}).get("Default", value))
        for name, value in values.items()
        if value is not None
    }
