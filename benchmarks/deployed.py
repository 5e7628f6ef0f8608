"""The deployed handlers, from the templates."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepwise import STACK_NAME
from stepwise.deployment.application import flat
from stepwise.deployment.templates import FUNCTION, of_type
from stepwise.local.emulator.emulator import ROOT
from tests.kit.sample_events.expectations import EXPECTED

_PSEUDO = {
    "AWS::StackName": STACK_NAME,
    "AWS::StackId": f"arn:aws:cloudformation:us-east-1:000000000000:stack/{STACK_NAME}/0a1b2c3d",
    "AWS::AccountId": "000000000000",
    "AWS::Region": "us-east-1",
    "AWS::Partition": "aws",
}


@dataclass(frozen=True, slots=True)
class Deployed:
    """A deployed function. function: its logical id. target: module.handler.

    variables: its environment, with names where AWS has ARNs.
    """

    function: str
    target: str
    variables: Mapping[str, str]

    @property
    def handler(self) -> str:
        return self.target.rpartition(".")[2]

    @property
    def event(self) -> Path:
        """Plainest sample event that succeeds. An invalid one may end before the first AWS call."""
        events = (ROOT / "events").rglob(f"{self.handler}*.json")
        return min(events, key=lambda path: (EXPECTED[path.stem].error is not None, len(path.name)))


def handlers() -> list[Deployed]:
    """Return every function of the templates, in their order."""
    template = flat(ROOT / "template.yaml")
    shared = template["Globals"]["Function"]["Environment"]["Variables"]
    return [
        Deployed(name, body["Handler"], _variables({**shared, **_own(body)}, template["Parameters"]))
        for name, body in of_type(template, FUNCTION).items()
    ]


def _own(body: Mapping[str, Any]) -> dict[str, Any]:
    return dict(body.get("Environment", {}).get("Variables", {}))


def _variables(values: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, str]:
    plain = {name: _plain(value, parameters) for name, value in values.items()}
    return {name: value for name, value in plain.items() if value is not None}


def _plain(value: Any, parameters: Mapping[str, Any]) -> str | None:
    """Resolve a value to text: `!Ref Orders` is "Orders". Template options are off."""
    match value:
        case {"Fn::If": [_, _, otherwise]}:
            return _plain(otherwise, parameters)
        case {"Ref": "AWS::NoValue"}:
            return None
        case {"Ref": str(name)}:
            return _PSEUDO.get(name) or str(parameters.get(name, {}).get("Default", name))
        case {"Fn::GetAtt": parts}:
            return ".".join(parts)
        case {"Fn::Sub": str(text)}:
            return re.sub(r"\$\{(AWS::\w+)\}", lambda found: _PSEUDO.get(found[1], found[0]), text)
    return str(value)
