"""Every role's policies, checked by parliament."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepwise.deployment.preflight import policies
from stepwise.deployment.preflight.resolve import Resolver
from stepwise.deployment.translation import translated
from tests.kit.project import ROOT
from tests.kit.template import TEMPLATE

PARLIAMENT = ROOT / ".venv-verify" / "bin" / "parliament"
OPTIONS: dict[str, dict[str, str]] = {
    "off": {},
    "on": {"PaymentGatewayUrl": "https://gateway.example", "AlertEmail": "a@example.com"},
}
# False positives of parliament, each with its reason. The test also fails if one no longer occurs.
FALSE_POSITIVES = {
    # It expects each resource type of an action; executions of express machines are another type.
    ("RESOURCE_MISMATCH", "states:DescribeExecution"),
    # A stream's label is a timestamp, whose colons it mistakes for the ARN's.
    ("RESOURCE_MISMATCH", "dynamodb:DescribeStream"),
    ("RESOURCE_MISMATCH", "dynamodb:GetRecords"),
    ("RESOURCE_MISMATCH", "dynamodb:GetShardIterator"),
}

type Issue = tuple[str, str]


def issues(folder: Path) -> Iterator[Issue]:
    """Pairs of an issue and its action, or its text if it concerns no action."""
    command = [str(PARLIAMENT), "--directory", str(folder), "--json"]
    for line in subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines():
        found = json.loads(line)
        details: list[Any] = found["detail"] if isinstance(found["detail"], list) else [found["detail"]]
        for detail in details:
            yield found["issue"], detail["action"] if isinstance(detail, dict) else str(detail)


@pytest.mark.parametrize("options", OPTIONS)
def test_no_policy_has_a_finding(options: str, tmp_path: Path) -> None:
    resolver = Resolver.to(translated(TEMPLATE, "us-east-1"), "us-east-1", "123456789012", "stepwise", OPTIONS[options])
    for role, name, document in policies.policies(resolver):
        if name != policies.TRUST:
            (tmp_path / f"{role}.json").write_text(json.dumps(document))

    assert set(issues(tmp_path)) == FALSE_POSITIVES


def test_defects_are_found(tmp_path: Path) -> None:
    for number, action in enumerate(["s3:GetObjekt", "ds:DeleteDirectory"]):
        policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": action, "Resource": "*"}]}
        (tmp_path / f"{number}.json").write_text(json.dumps(policy))

    assert {issue for issue, _ in issues(tmp_path)} == {"UNKNOWN_ACTION", "RESOURCE_STAR"}
