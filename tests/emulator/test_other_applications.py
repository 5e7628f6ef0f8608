"""The tools installed from their wheel alone, on a small SAM application in another folder."""

import json
import os
import sys
import time
from pathlib import Path

import boto3
import pytest

from stepwise.local.emulator.emulator import free_port
from tests.kit.project import DEPLOYED, ROOT
from tests.kit.wheels import attempt, build, install, run

TEMPLATE = """\
Transform: AWS::Serverless-2016-10-31
Parameters:
  Greeting: {Type: String, Default: hello}
Resources:
  Things:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      KeySchema: [{AttributeName: id, KeyType: HASH}]
  Put:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: src/
      Handler: app.handler
      Runtime: python3.13
      Environment: {Variables: {TABLE: !Ref Things, GREETING: !Ref Greeting}}
      Policies: [{DynamoDBWritePolicy: {TableName: !Ref Things}}]
  Machine:
    Type: AWS::Serverless::StateMachine
    Properties:
      Definition: {StartAt: Put, States: {Put: {Type: Task, Resource: !GetAtt Put.Arn, TimeoutSeconds: 10, End: true}}}
      Policies: [{LambdaInvokePolicy: {FunctionName: !Ref Put}}]
Outputs:
  MachineArn: {Value: !Ref Machine}
  TableName: {Value: !Ref Things}
"""
CODE = """\
import os
import boto3

def handler(event, context):
    item = {"id": {"S": event["id"]}, "greeting": {"S": os.environ["GREETING"]}}
    boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item=item)
    return "put"
"""
ACCOUNT = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}
# Modules of the tools: in these packages, and those that the commands of `cli` need that work in any project.
TOOLS = """
import pkgutil, importlib, sys
import stepwise.deployment, stepwise.local
from stepwise.cli.app import app, _SECTIONS
for package in (stepwise.deployment, stepwise.local):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith((".__main__", ".sam.sitecustomize")):
            importlib.import_module(module.name)
for entries in _SECTIONS.values():
    for name, entry in entries.items():
        if entry.tool:
            entry.load(name)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wheel = build(ROOT, tmp_path_factory.mktemp("wheel"))
    return install(wheel, tmp_path_factory.mktemp("environment") / "venv")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "template.yaml").write_text(TEMPLATE)
    (tmp_path / "src" / "app.py").write_text(CODE)
    return tmp_path


def test_wheel_shows_help(python: Path) -> None:
    assert "Usage: stepwise" in run(python.with_name("stepwise"), "--help")


def test_tools_import_nothing_deployed(python: Path, tmp_path: Path) -> None:
    imported = run(python, "-c", TOOLS, cwd=tmp_path).split()

    assert not set(imported) & set(DEPLOYED)


def test_application_command_names_missing_parts(python: Path, folder: Path) -> None:
    refused = attempt(python.with_name("stepwise"), "orders", "list", cwd=folder)

    assert (refused.returncode, str(folder) in refused.stderr, "--project" in refused.stderr) == (3, True, True)


def test_start_deploys_another_application_after_a_failure(python: Path, folder: Path) -> None:
    stepwise, port = python.with_name("stepwise"), str(free_port())
    # The SAM CLI has a separate environment, because its pins differ.
    path = os.pathsep.join([os.environ["PATH"], str(ROOT / ".venv-sam" / "bin"), str(Path(sys.executable).parent)])

    def call(*words: str) -> str:
        return run(stepwise, *words, "--port", port, cwd=folder, PATH=path)

    failing = TEMPLATE.replace(
        "Outputs:", "  Failing: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1}}\nOutputs:"
    )
    (folder / "failing.yaml").write_text(failing)
    try:
        failed = attempt(stepwise, "start", "--template", "failing.yaml", "--port", port, cwd=folder, PATH=path)
        assert (failed.returncode, "stepwise: Failing: " in failed.stderr) == (5, True), failed.stderr
        call("start", "--template", "template.yaml", "--parameter", "Greeting=good morning")
        outputs = json.loads(call("status", "--json"))["outputs"]
        states = boto3.client("stepfunctions", endpoint_url=f"http://127.0.0.1:{port}", **ACCOUNT)
        table = boto3.client("dynamodb", endpoint_url=f"http://127.0.0.1:{port}", **ACCOUNT)
        arn = states.start_execution(stateMachineArn=outputs["MachineArn"], input='{"id": "a"}')["executionArn"]
        deadline = time.monotonic() + 60
        while (found := states.describe_execution(executionArn=arn))["status"] == "RUNNING":
            assert time.monotonic() < deadline
            time.sleep(0.1)
        rows = table.scan(TableName=outputs["TableName"])["Items"]
    finally:
        call("stop")

    assert found["status"] == "SUCCEEDED", found
    assert rows == [{"id": {"S": "a"}, "greeting": {"S": "good morning"}}]


def test_start_without_a_template_starts_nothing(python: Path, tmp_path: Path) -> None:
    port = str(free_port())
    refused = attempt(python.with_name("stepwise"), "start", "--port", port, cwd=tmp_path)

    assert (refused.returncode, "name a template with --template" in refused.stderr) == (5, True)
    assert "Nothing is running" in attempt(python.with_name("stepwise"), "status", "--port", port, cwd=tmp_path).stdout
