"""A failed first deployment leaves nothing that must be deleted by hand before the next."""

import json

import pytest

from tests.kit.deployed_stack import Stack
from tests.kit.injection import eventually
from tests.kit.ministack import Account
from tests.kit.template import RESOURCES

pytestmark = pytest.mark.local_only("are about a stack of their own, which fails")

# SQS rejects such a short time.
FAILING = {"Type": "AWS::SQS::Queue", "Properties": {"MessageRetentionPeriod": 1}}


def test_failed_first_deployment_leaves_nothing_behind(ours: Account) -> None:
    """CloudFormation on AWS leaves protected tables until their protection is off: docs/operations.md."""
    cloudformation = ours.client("cloudformation")
    kept = {name: body for name, body in RESOURCES.items() if "DeletionPolicy" in body}
    resources = {name: {**body, "Properties": Stack().resolve(body["Properties"])} for name, body in kept.items()}
    template = {"Resources": {**resources, "Failing": {**FAILING, "DependsOn": list(kept)}}}
    cloudformation.create_stack(StackName="first", TemplateBody=json.dumps(template))

    def status() -> str:
        return str(cloudformation.describe_stacks(StackName="first")["Stacks"][0]["StackStatus"])

    eventually(lambda: not status().endswith("IN_PROGRESS"))
    assert status() == "ROLLBACK_COMPLETE"
    tables = ours.client("dynamodb").list_tables()["TableNames"]
    buckets = [bucket["Name"] for bucket in ours.client("s3").list_buckets()["Buckets"]]
    assert [name for name in (*tables, *buckets) if name.startswith("first-")] == []
