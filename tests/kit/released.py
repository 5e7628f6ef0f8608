"""Keeps what later versions must still accept and must not move: `python -m tests.kit.released`."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stepwise.deployment.application import nested
from stepwise.deployment.templates import load
from tests.kit.project import EVENTS, ROOT, read_json

RELEASED = ROOT / "tests" / "contract" / "released"
# Resources whose content, subscribers, address or running executions are lost if another stack declares them.
STATEFUL = {
    "AWS::ApiGatewayV2::Api",
    "AWS::DynamoDB::Table",
    "AWS::KMS::Key",
    "AWS::S3::Bucket",
    "AWS::SNS::Topic",
    "AWS::SQS::Queue",
    "AWS::SecretsManager::Secret",
    "AWS::StepFunctions::StateMachine",
}

type Resources = Mapping[str, Mapping[str, Any]]


def version() -> str:
    """The last release, by the changelog. A tag is not in every clone."""
    return re.findall(r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]


def kept() -> Path:
    """The file with the events of the last release, one a line."""
    return RELEASED / f"{version()}.json"


def stateful() -> Resources:
    """Type and key of each resource that must not move, by stack and logical id."""
    stacks = {name: load(ROOT / place)["Resources"] for name, place in nested(load(ROOT / "template.yaml")).items()}
    return {
        f"{stack}.{name}": {"type": body["Type"], **_key(body["Properties"])}
        for stack, resources in stacks.items()
        for name, body in resources.items()
        if body["Type"] in STATEFUL
    }


def _key(properties: Mapping[str, Any]) -> dict[str, Any]:
    if "KeySchema" not in properties:
        return {}
    return {"key": {key["KeyType"]: key["AttributeName"] for key in properties["KeySchema"]}}


def write(path: Path, entries: Mapping[str, Any]) -> None:
    lines = (f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}" for name, entry in entries.items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write(kept(), {name: read_json(path) for name, path in EVENTS.items()})
    write(RELEASED / "stateful.json", stateful())
