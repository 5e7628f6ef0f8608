"""The root and its stacks as one template, and the rules for their files."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from stepwise.deployment.application import files, flat, nested
from stepwise.deployment.gradual import gradual, write
from stepwise.deployment.templates import load
from tests.kit.project import ROOT

TEMPLATES = list(files(ROOT / "template.yaml"))
BELOW = TEMPLATES[1:]
MAX_LINE = 140
# A parameter has at most 4,096 bytes, the ARN of a nested stack's alarm at most 234, a separator 4.
MAX_ARNS = 4096 // (234 + 4)

ROOT_TEMPLATE = """\
Parameters:
  Days: {Type: Number}
Resources:
  Tables:
    Type: AWS::CloudFormation::Stack
    Properties:
      TemplateURL: stacks/tables.yaml
      Parameters: {Root: !Ref AWS::StackName}
  Orders:
    Type: AWS::Serverless::Application
    Properties:
      Location: stacks/orders.yaml
      Parameters: {Days: !Ref Days, Table: !GetAtt Tables.Outputs.Table, Arns: !GetAtt Tables.Outputs.Arns}
Outputs:
  Arn: {Value: !GetAtt Orders.Outputs.Arn}
"""
TABLES = """\
Parameters:
  Root: {Type: String}
Resources:
  Table: {Type: AWS::DynamoDB::Table, Properties: {TableName: !Sub "${Root}-orders"}}
Outputs:
  Table: {Value: !Ref Table}
  Arns: {Value: !Join [", ", [!GetAtt Table.Arn, !Ref Table]]}
"""
ORDERS = """\
Parameters:
  Days: {Type: Number}
  Table: {Type: String}
  Arns: {Type: String}
Globals:
  Function: {CodeUri: ../functions/, Environment: {Variables: {TABLE: !Ref Table, DAYS: !Ref Days}}}
Resources:
  Function: {Type: AWS::Serverless::Function, Properties: {Description: !Sub "${Arns} ${AWS::Region} ${Function.Arn}"}}
Outputs:
  Arn: {Value: !GetAtt Function.Arn}
"""
OTHERS = """\
Parameters:
  Days: {Type: Number}
Globals:
  Function: {CodeUri: ../functions/, Environment: {Variables: {DAYS: !Ref Days}}}
Resources:
  Other: {Type: AWS::Serverless::Function}
"""
OTHER_STACK = """\
  Others:
    Type: AWS::Serverless::Application
    Properties: {Location: stacks/others.yaml, Parameters: {Days: !Ref Days}}
Outputs:"""


def application(folder: Path, others: str = OTHERS) -> dict[str, Any]:
    (folder / "stacks").mkdir()
    (folder / "template.yaml").write_text(ROOT_TEMPLATE.replace("Outputs:", OTHER_STACK, 1))
    for name, text in (("tables", TABLES), ("orders", ORDERS), ("others", others)):
        (folder / "stacks" / f"{name}.yaml").write_text(text)
    return flat(folder / "template.yaml")


def test_nested_stack_parameters_resolve_to_their_sources(tmp_path: Path) -> None:
    template = application(tmp_path)

    assert template["Resources"]["Table"]["Properties"]["TableName"] == {"Fn::Sub": "${AWS::StackName}-orders"}
    assert template["Resources"]["Function"]["Properties"]["Description"] == {
        "Fn::Sub": "${Table.Arn}, ${Table} ${AWS::Region} ${Function.Arn}"
    }
    assert template["Outputs"] == {"Arn": {"Value": {"Fn::GetAtt": ["Function", "Arn"]}}}
    assert list(template["Resources"]) == ["Table", "Function", "Other"]


def test_condition_of_a_stack_becomes_one_of_its_resources(tmp_path: Path) -> None:
    application(tmp_path)
    root = tmp_path / "template.yaml"
    stack = "    Type: AWS::CloudFormation::Stack\n"
    root.write_text(root.read_text().replace(stack, f"{stack}    Condition: Kept\n"))

    assert {name: body.get("Condition") for name, body in flat(root)["Resources"].items()} == {
        "Table": "Kept",
        "Function": None,
        "Other": None,
    }


def test_variables_of_one_stack_are_those_of_its_functions(tmp_path: Path) -> None:
    template = application(tmp_path)

    assert template["Globals"]["Function"] == {
        "CodeUri": "functions",
        "Environment": {"Variables": {"DAYS": {"Ref": "Days"}}},
    }
    assert template["Resources"]["Function"]["Properties"]["Environment"] == {"Variables": {"TABLE": {"Ref": "Table"}}}
    assert "Environment" not in template["Resources"]["Other"].get("Properties", {})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("../functions/", "../other/", "Function: two stacks declare it in different ways"),
        ("  Other:", "  Table:", "Table: two stacks declare it in different ways"),
        ("  Days: {Type", "  Weeks: {Type", r"others\.yaml: its parameters are not those that the root passes"),
    ],
)
def test_stacks_with_different_shared_parts_are_rejected(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        application(tmp_path, OTHERS.replace(old, new, 1))


@pytest.mark.slow
@pytest.mark.parametrize("leave", [False, True])
def test_aliases_per_file_match_those_of_the_whole(tmp_path: Path, leave: bool) -> None:
    shutil.copy(ROOT / "template.yaml", tmp_path)
    shutil.copytree(ROOT / "stacks", tmp_path / "stacks")

    template = tmp_path / "template.yaml"
    written = flat(write(template, "release", shifted=nested(load(template)), leave=leave))

    assert written == gradual(flat(ROOT / "template.yaml"), "release", leave=leave)


def test_every_stack_belongs_to_the_root() -> None:
    assert sorted(BELOW) == sorted((ROOT / "stacks").iterdir())


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_line_is_too_long_to_read(path: Path) -> None:
    """A description and a pattern cannot be split."""
    lines = [line for line in path.read_text().splitlines() if not re.search("Description:|AllowedPattern:", line)]

    assert [line for line in lines if len(line) > MAX_LINE] == []


@pytest.mark.parametrize("path", BELOW, ids=lambda path: path.name)
def test_no_list_of_arns_is_too_long_for_a_parameter(path: Path) -> None:
    outputs = load(path).get("Outputs", {})
    lists = {name: body["Value"]["Fn::Join"][1] for name, body in outputs.items() if "Fn::Join" in body["Value"]}

    assert [name for name, arns in lists.items() if "Alarms" in name and len(arns) > MAX_ARNS] == []


@pytest.mark.parametrize("path", BELOW, ids=lambda path: path.name)
def test_nested_stack_never_uses_its_own_name(path: Path) -> None:
    assert "AWS::StackName" not in path.read_text()
    assert "AWS::StackId" not in path.read_text()


@pytest.mark.parametrize("path", BELOW, ids=lambda path: path.name)
def test_stack_uses_all_its_parameters_and_all_its_outputs_are_used(path: Path) -> None:
    text, template = path.read_text(), load(path)
    (name,) = (name for name, place in nested(load(ROOT / "template.yaml")).items() if path.name == Path(place).name)
    root = (ROOT / "template.yaml").read_text()

    unused = [one for one in template["Parameters"] if f"!Ref {one}" not in text and f"${{{one}}}" not in text]
    assert unused == []
    assert [one for one in template.get("Outputs", {}) if not re.search(rf"{name}\.Outputs\.{one}\b", root)] == []
