"""The template as SAM translates it, linted for Regions of three partitions."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stepwise.deployment.application import files
from stepwise.deployment.gradual import gradual
from stepwise.deployment.preflight.template import LIMITS
from stepwise.deployment.templates import load
from stepwise.deployment.translation import translated
from tests.kit.project import ROOT
from tests.kit.template import PATH, TEMPLATE

LINT = ROOT / ".venv-verify" / "bin" / "cfn-lint"
# The template is translated for the first Region of each.
PARTITIONS = {
    "aws": ["us-east-1", "us-west-2", "eu-west-1", "ap-northeast-1", "ap-southeast-1"],
    "aws-cn": ["cn-north-1", "cn-northwest-1"],
    "aws-us-gov": ["us-gov-west-1", "us-gov-east-1"],
}
TEMPLATES = {"plain": TEMPLATE, "gradual": gradual(TEMPLATE, "release")}

every_partition = pytest.mark.parametrize("partition", PARTITIONS)


def lint(template: dict[str, Any], regions: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "template.json").write_text(json.dumps(template, indent=1))
    # All stacks are one here, with more resources than a stack may have (E3010); the test below counts those of each.
    command = [str(LINT), "--regions", *regions, "--ignore-checks", "E3010", "--", str(folder / "template.json")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@every_partition
@pytest.mark.parametrize("name", TEMPLATES)
def test_template_sent_to_cloudformation_has_no_finding(name: str, partition: str, tmp_path: Path) -> None:
    regions = PARTITIONS[partition]

    linted = lint(translated(TEMPLATES[name], regions[0]), regions, tmp_path)

    assert (linted.returncode, linted.stdout) == (0, "")


def test_no_stack_exceeds_the_cloudformation_resource_limit() -> None:
    counts = {path.name: len(translated(load(path), "us-east-1")["Resources"]) for path in files(PATH)}

    assert {name: count for name, count in counts.items() if count > LIMITS["Resources"]} == {}


@every_partition
def test_resource_missing_in_a_region_is_found(partition: str, tmp_path: Path) -> None:
    template = {"Resources": {"Here": {"Type": "AWS::SNS::Topic"}, "Nowhere": {"Type": "AWS::Stepwise::Nothing"}}}

    linted = lint(template, PARTITIONS[partition], tmp_path)

    assert "AWS::Stepwise::Nothing" in linted.stdout
