"""Nested stacks: what MiniStack lacks, the patch `nested_stacks` has."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from tests.kit.injection import eventually
from tests.kit.ministack import Account, still_there

pytestmark = pytest.mark.local_only("are about the local stack itself")

# SAM makes a table of this.
TABLE = {"Type": "AWS::Serverless::SimpleTable"}
QUEUE = {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": 1}}
TOPIC = {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Ref": "Name"}}}
SAM = "AWS::Serverless-2016-10-31"


@dataclass(frozen=True)
class Application:
    """A root with one stack below it."""

    account: Account
    name: str

    def deploy(self, child: dict[str, Any], *, update: bool = False) -> str:
        """Create or update the stacks. Returns the status of the root's."""
        s3, key = self.account.client("s3"), uuid.uuid4().hex
        s3.put_object(Bucket=self.name, Key=key, Body=json.dumps(child))
        below = {"TemplateURL": f"{self.account.endpoint}/{self.name}/{key}", "Parameters": {"Name": key}}
        root = {
            "Resources": {"Below": {"Type": "AWS::CloudFormation::Stack", "Properties": below}},
            "Outputs": {"Given": {"Value": {"Fn::GetAtt": ["Below", "Outputs.Given"]}}},
        }
        client = self.account.client("cloudformation")
        change = client.update_stack if update else client.create_stack
        change(
            StackName=self.name,
            TemplateBody=json.dumps(root),
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        )
        eventually(lambda: not self.stack["StackStatus"].endswith("IN_PROGRESS"))
        return str(self.stack["StackStatus"])

    @property
    def stack(self) -> Any:
        (stack,) = self.account.client("cloudformation").describe_stacks(StackName=self.name)["Stacks"]
        return stack

    @property
    def given(self) -> str:
        """The output of the stack below."""
        (output,) = self.stack["Outputs"]
        return str(output["OutputValue"])


def application(account: Account) -> Application:
    name = f"nested-{uuid.uuid4().hex[:12]}"
    account.client("s3").create_bucket(Bucket=name)
    return Application(account, name)


def child(resources: dict[str, Any], given: Any, **more: Any) -> dict[str, Any]:
    parameters = {"Name": {"Type": "String"}}
    return {**more, "Parameters": parameters, "Resources": resources, "Outputs": {"Given": {"Value": given}}}


SERVERLESS = child({"Table": TABLE}, {"Ref": "Table"}, Transform=SAM)
UNCHANGED = child({"Queue": QUEUE, "Topic": TOPIC}, {"Fn::GetAtt": ["Queue", "QueueName"]})


# --- MiniStack as it comes ---


def test_ministack_still_leaves_a_childs_transform_undone(upstream: Account) -> None:
    root = application(upstream)

    root.deploy(SERVERLESS)

    assert not _tables(upstream, root), still_there("nested_stacks", "a nested stack's transforms")


def test_ministack_still_forgets_the_attributes_of_what_an_update_leaves_alone(upstream: Account) -> None:
    root = application(upstream)
    assert root.deploy(UNCHANGED) == "CREATE_COMPLETE"

    assert root.deploy(UNCHANGED, update=True) != "UPDATE_COMPLETE", still_there(
        "nested_stacks", "attributes of a nested stack's resources"
    )


# --- ours ---


def test_a_childs_transform_runs(ours: Account) -> None:
    root = application(ours)

    assert root.deploy(SERVERLESS) == "CREATE_COMPLETE"
    assert _tables(ours, root) == [root.given]


def test_what_an_update_leaves_alone_keeps_its_attributes(ours: Account) -> None:
    root = application(ours)
    root.deploy(UNCHANGED)
    before = root.given

    assert root.deploy(UNCHANGED, update=True) == "UPDATE_COMPLETE"
    assert root.given == before


def _tables(account: Account, root: Application) -> list[str]:
    return [name for name in account.client("dynamodb").list_tables()["TableNames"] if name.startswith(root.name)]
