"""Failed deployments: how CloudFormation rolls back nested stacks, what remains, and how to delete it.

DeletionPolicy attribute, in AWS's template reference: if the operation that created a resource with
RetainExceptOnCreate is rolled back, CloudFormation deletes it; all other operations retain it.
"""

import json
import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ClientError

from stepwise.deployment import teardown as teardowns
from stepwise.deployment.preflight.target import Target
from stepwise.deployment.stages import deployed
from stepwise.deployment.teardown import Refused, teardown
from stepwise.local.deployment import failures
from stepwise.local.emulator.emulator import environment
from tests.kit.injection import eventually
from tests.kit.ministack import Account, still_there

pytestmark = pytest.mark.local_only("are about stacks of their own, which fail")

STACK = "AWS::CloudFormation::Stack"
KEPT = {"DeletionPolicy": "RetainExceptOnCreate"}
TABLE = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "DeletionProtectionEnabled": {"Ref": "Protected"},
}
STATE = {"Type": "Pass", "End": True}
RESOURCES: dict[str, Any] = {
    "Table": {"Type": "AWS::DynamoDB::Table", "Properties": TABLE, **KEPT},
    "Bucket": {"Type": "AWS::S3::Bucket", **KEPT},
    "Secret": {"Type": "AWS::SecretsManager::Secret", "Properties": {"GenerateSecretString": {}}, **KEPT},
    "Logs": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": {"Fn::Sub": "/${Root}/logs"}}},
    "Layer": {
        "Type": "AWS::Lambda::LayerVersion",
        "Properties": {
            "LayerName": {"Fn::Sub": "${Root}-layer"},
            "Content": {"S3Bucket": {"Ref": "Root"}, "S3Key": "zip"},
        },
    },
    "Machine": {
        "Type": "AWS::StepFunctions::StateMachine",
        "Properties": {
            "StateMachineName": {"Fn::Sub": "${Root}-machine"},
            "RoleArn": "arn:aws:iam::000000000000:role/machine",
            "DefinitionString": json.dumps({"StartAt": "End", "States": {"End": STATE}}),
        },
    },
}
# SQS rejects such a short time.
FAILING = {"Type": "AWS::SQS::Queue", "Properties": {"MessageRetentionPeriod": 1}}


@dataclass(frozen=True)
class Application:
    """A root with two nested stacks; the second may fail after everything else was created."""

    account: Account
    name: str

    def begin(self, *, failing: bool = True, protected: str = "false", **options: Any) -> None:
        client = self.account.client("cloudformation")
        client.create_stack(StackName=self.name, TemplateBody=self.template(failing, protected), **options)

    def template(self, failing: bool = True, protected: str = "false") -> str:
        second = {"Failing": {**FAILING, "DependsOn": ["Layer", "Machine"]}} if failing else {}
        first = {name: RESOURCES[name] for name in ("Table", "Bucket", "Secret", "Logs")}
        below = [first, second | {name: RESOURCES[name] for name in ("Layer", "Machine")}]
        given = {"Root": self.name, "Protected": protected}
        nested = [{"Type": STACK, "Properties": {"TemplateURL": self._put(one), "Parameters": given}} for one in below]
        parameters = {"DeletionProtection": {"Type": "String", "Default": protected}}
        resources = {"First": nested[0], "Second": {**nested[1], "DependsOn": "First"}}
        return json.dumps({"Parameters": parameters, "Resources": resources})

    def _put(self, resources: dict[str, Any]) -> str:
        parameters = {name: {"Type": "String"} for name in ("Root", "Protected")}
        body, key = json.dumps({"Parameters": parameters, "Resources": resources}), uuid.uuid4().hex
        self.account.client("s3").put_object(Bucket=self.name, Key=key, Body=body)
        return f"{self.account.endpoint}/{self.name}/{key}"

    def status(self, stack: str = "") -> str:
        """Wait until no operation is in progress, and return the status of the root or of another stack."""

        def described() -> str:
            found = deployed(self.account.client("cloudformation"), stack or self.name)
            return found.status if found else "DELETE_COMPLETE"

        eventually(lambda: not described().endswith("IN_PROGRESS"))
        return described()

    def left(self) -> dict[str, list[str]]:
        """Return the names of all existing resources by kind."""
        client = self.account.client
        stacks = client("cloudformation").list_stacks()["StackSummaries"]
        found = {
            "stacks": [one["StackName"] for one in stacks if one["StackStatus"] != "DELETE_COMPLETE"],
            "tables": client("dynamodb").list_tables()["TableNames"],
            "buckets": [one["Name"] for one in client("s3").list_buckets()["Buckets"] if one["Name"] != self.name],
            "secrets": [one["Name"] for one in client("secretsmanager").list_secrets()["SecretList"]],
            "logs": [one["logGroupName"][1:] for one in client("logs").describe_log_groups()["logGroups"]],
            "layers": [one["LayerName"] for one in client("lambda").list_layers()["Layers"]],
            "machines": [one["name"] for one in client("stepfunctions").list_state_machines()["stateMachines"]],
        }
        return {kind: mine for kind, names in found.items() if (mine := [one for one in names if self.owns(one)])}

    def owns(self, name: str) -> bool:
        return name.startswith(self.name)

    def table(self) -> str:
        (name,) = self.left()["tables"]
        return name


def application(account: Account) -> Application:
    name = f"first-{uuid.uuid4().hex[:8]}"
    account.client("s3").create_bucket(Bucket=name)
    account.client("s3").put_object(Bucket=name, Key="zip", Body=b"PK\x05\x06" + bytes(18))
    return Application(account, name)


@pytest.fixture
def root(ours: Account) -> Application:
    return application(ours)


@pytest.fixture
def target(root: Application, monkeypatch: pytest.MonkeyPatch) -> Target:
    for name, value in environment(root.account.endpoint).items():
        monkeypatch.setenv(name, value)
    return Target(root.name)


def test_ministack_still_leaves_the_nested_stacks_of_a_failed_creation(upstream: Account) -> None:
    root = application(upstream)

    root.begin()

    assert root.status() == "ROLLBACK_COMPLETE"
    assert len(root.left()["stacks"]) > 1, still_there("rollbacks", "a nested stack that fails is not deleted")


def test_failed_creation_leaves_only_the_root(root: Application) -> None:
    root.begin()

    assert root.status() == "ROLLBACK_COMPLETE"
    assert root.left() == {"stacks": [root.name]}


def test_failed_resource_is_found_in_the_nested_stack(root: Application) -> None:
    root.begin()
    root.status()

    (failure,) = failures(root.account.client("cloudformation"), root.name)

    assert failure.stack.startswith(f"{root.name}-Second-")
    assert (failure.resource, failure.kind, failure.status) == ("Failing", "AWS::SQS::Queue", "CREATE_FAILED")
    assert "MessageRetentionPeriod" in failure.reason


def test_root_names_the_nested_stack_that_failed(root: Application) -> None:
    root.begin()
    root.status()
    events = root.account.client("cloudformation").describe_stack_events(StackName=root.name)["StackEvents"]

    (event,) = (one for one in events if one["ResourceStatus"] == "CREATE_FAILED")
    assert event["LogicalResourceId"] == "Second"
    assert event["ResourceStatusReason"].strip() == (
        f"Embedded stack {event['PhysicalResourceId']} was not successfully created: "
        "The following resource(s) failed to create: [Failing]."
    )
    assert root.status(event["PhysicalResourceId"]) == "DELETE_COMPLETE"


def test_protected_table_remains_after_a_failed_creation(root: Application) -> None:
    """Deleting the stack is not the operation that created the table, so it retains the table."""
    root.begin(protected="true")
    assert root.status() == "ROLLBACK_FAILED"
    client, table = root.account.client("cloudformation"), root.table()
    assert [(one.resource, one.status) for one in failures(client, root.name)] == [
        ("Failing", "CREATE_FAILED"),
        ("Table", "DELETE_FAILED"),
    ]

    client.delete_stack(StackName=root.name)

    assert root.status() == "DELETE_COMPLETE"
    assert root.left() == {"tables": [table]}


def test_teardown_deletes_what_a_failed_creation_left(root: Application, target: Target) -> None:
    root.begin(protected="true")
    assert root.status() == "ROLLBACK_FAILED"

    teardown(target, lambda: root.name)

    assert root.left() == {}


def test_teardown_deletes_data(root: Application, target: Target) -> None:
    root.begin(failing=False)
    root.status()
    s3, ssm, (bucket,) = root.account.client("s3"), root.account.client("ssm"), root.left()["buckets"]
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    for body in (b"1", b"2"):
        s3.put_object(Bucket=bucket, Key="a", Body=body)
    s3.delete_object(Bucket=bucket, Key="a")
    ssm.put_parameter(Name=f"/{root.name}/webhooks/a/b", Value="secret", Type="SecureString")

    teardown(target, lambda: root.name)

    assert root.left() == {}
    assert ssm.get_parameters_by_path(Path=f"/{root.name}", Recursive=True)["Parameters"] == []


@pytest.mark.parametrize("deleted", [0, 1, 2])
def test_teardown_that_stopped_halfway_is_continued(
    root: Application, target: Target, deleted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    root.begin(failing=False)
    root.status()
    delete, calls = teardowns._delete, list[str]()

    def refuse(target: Target, kind: str, physical_id: str) -> None:
        calls.append(physical_id)
        if len(calls) > deleted:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "Delete")
        delete(target, kind, physical_id)

    monkeypatch.setattr(teardowns, "_delete", refuse)
    with pytest.raises(ClientError, match="AccessDenied"):
        teardown(target, lambda: root.name)
    monkeypatch.setattr(teardowns, "_delete", delete)
    assert sum(map(len, root.left().values())) == 3 - deleted
    with pytest.raises(Refused, match="not confirmed"):
        teardown(Target(root.name), lambda: "")

    teardown(Target(root.name), lambda: root.name)

    assert root.left() == {}
    with pytest.raises(Refused, match="there is no stack"):
        teardown(Target(root.name), lambda: root.name)


def test_teardown_deletes_what_a_rollback_retained(
    root: Application, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CloudFormation may not know `RetainExceptOnCreate` in nested stacks."""
    for name in ("Table", "Bucket", "Secret"):
        monkeypatch.setitem(RESOURCES, name, {**RESOURCES[name], "DeletionPolicy": "Retain"})
    root.begin()
    assert root.status() == "ROLLBACK_COMPLETE"
    assert sorted(root.left()) == ["buckets", "secrets", "stacks", "tables"]

    teardown(target, lambda: root.name)

    assert root.left() == {}


def test_teardown_leaves_protected_tables_of_a_deleted_stack(root: Application, target: Target) -> None:
    root.begin(failing=False, protected="true")
    root.status()
    root.account.client("cloudformation").delete_stack(StackName=root.name)
    assert root.status() == "DELETE_COMPLETE"
    before = root.left()

    with pytest.raises(Refused, match="its tables are protected"):
        teardown(target, lambda: root.name)

    assert root.left() == before


@pytest.mark.parametrize(
    ("protected", "typed", "why"),
    [("true", "", "its tables are protected"), ("false", "another", "not confirmed"), ("", "", "there is no stack")],
)
def test_teardown_leaves_other_resources_alone(
    root: Application, target: Target, protected: str, typed: str, why: str
) -> None:
    if protected:
        root.begin(failing=False, protected=protected)
        root.status()
    before = root.left()

    with pytest.raises(Refused, match=why):
        teardown(target, lambda: typed or root.name)

    assert root.left() == before


def test_bucket_with_objects_remains_after_a_rollback(root: Application) -> None:
    root.begin(DisableRollback=True)
    root.status()
    (bucket,) = root.left()["buckets"]
    root.account.client("s3").put_object(Bucket=bucket, Key="kept", Body=b"kept")

    root.account.client("cloudformation").rollback_stack(StackName=root.name)

    assert root.status() == "ROLLBACK_FAILED"
    assert root.left()["buckets"] == [bucket]


def test_creation_can_be_repeated_after_deleting_the_rolled_back_stack(root: Application) -> None:
    client = root.account.client("cloudformation")
    root.begin()
    root.status()
    with pytest.raises(ClientError, match="AlreadyExistsException"):
        root.begin(failing=False)
    change = {"StackName": root.name, "ChangeSetName": "again", "TemplateBody": root.template(failing=False)}
    with pytest.raises(ClientError, match="is in ROLLBACK_COMPLETE state and can not be updated"):
        client.create_change_set(**change, ChangeSetType="UPDATE")

    client.delete_stack(StackName=root.name)
    assert root.status() == "DELETE_COMPLETE"
    root.begin(failing=False)

    assert root.status() == "CREATE_COMPLETE"
    assert failures(client, root.name) == []


def test_failed_creation_can_delete_its_stack(root: Application) -> None:
    root.begin(OnFailure="DELETE")

    eventually(lambda: root.status() == "DELETE_COMPLETE")
    assert root.left() == {}


@pytest.mark.parametrize(
    ("then", "kept"), [("rollback_stack", {"stacks"}), ("delete_stack", {"tables", "buckets", "secrets"})]
)
def test_creation_without_rollback_keeps_everything(root: Application, then: str, kept: set[str]) -> None:
    """A rollback deletes what the creation created; a deletion retains data."""
    client = root.account.client("cloudformation")
    root.begin(DisableRollback=True)
    assert root.status() == "CREATE_FAILED"
    assert set(root.left()) == {"stacks", "tables", "buckets", "secrets", "logs", "layers", "machines"}

    getattr(client, then)(StackName=root.name)

    assert root.status() in {"ROLLBACK_COMPLETE", "DELETE_COMPLETE"}
    assert set(root.left()) == kept


@pytest.mark.parametrize("protected", ["true", "false"])
def test_deletion_retains_resources_by_deletion_policy(root: Application, protected: str) -> None:
    root.begin(failing=False, protected=protected)
    assert root.status() == "CREATE_COMPLETE"
    before, table = root.left(), root.table()
    described = root.account.client("dynamodb").describe_table(TableName=table)["Table"]
    assert described["DeletionProtectionEnabled"] is (protected == "true")

    root.account.client("cloudformation").delete_stack(StackName=root.name)

    assert root.status() == "DELETE_COMPLETE"
    assert root.left() == {kind: before[kind] for kind in ("tables", "buckets", "secrets")}


def test_protection_can_be_switched_on(root: Application) -> None:
    client = root.account.client("cloudformation")
    root.begin(failing=False)
    root.status()

    client.update_stack(StackName=root.name, TemplateBody=root.template(failing=False, protected="true"))

    assert root.status() == "UPDATE_COMPLETE"
    table = root.account.client("dynamodb").describe_table(TableName=root.table())["Table"]
    assert table["DeletionProtectionEnabled"] is True


def test_failed_update_deletes_the_nested_stack_that_it_added(root: Application) -> None:
    client = root.account.client("cloudformation")
    whole = json.loads(root.template())
    first = {"Resources": {"First": whole["Resources"]["First"]}}
    client.create_stack(StackName=root.name, TemplateBody=json.dumps(first))
    assert root.status() == "CREATE_COMPLETE"
    before = root.left()

    client.update_stack(StackName=root.name, TemplateBody=json.dumps(whole))

    assert root.status() == "UPDATE_ROLLBACK_COMPLETE"
    assert root.left() == before
    assert [one.resource for one in failures(client, root.name)] == ["Failing"]


def test_failed_update_of_a_nested_stack_is_rolled_back(root: Application) -> None:
    client = root.account.client("cloudformation")
    root.begin(failing=False)
    assert root.status() == "CREATE_COMPLETE"
    before = root.left()

    client.update_stack(StackName=root.name, TemplateBody=root.template())

    assert root.status() == "UPDATE_ROLLBACK_COMPLETE"
    assert root.left() == before
    (failure,) = failures(client, root.name)
    assert failure.stack.startswith(f"{root.name}-Second-")
    assert failure.resource == "Failing"
    assert {root.status(stack) for stack in before["stacks"]} == {"UPDATE_ROLLBACK_COMPLETE"}
