"""Tests for the patch `boundaries`: a permissions boundary in a template limits its role."""

import json
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError

from stepwise.deployment.stages import Deployed, deployed
from tests.kit.injection import eventually
from tests.kit.ministack import Account, still_there

pytestmark = pytest.mark.local_only("are about the local stack itself")


def policy(*actions: str) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]}


def bound(account: Account, *actions: str) -> str:
    """Create a policy. Returns its ARN."""
    name, document = f"boundary-{uuid.uuid4().hex[:8]}", json.dumps(policy(*actions))
    arn: str = account.client("iam").create_policy(PolicyName=name, PolicyDocument=document)["Policy"]["Arn"]
    return arn


def deploy(account: Account, stack: str, boundary: str | None) -> str:
    """Create or update a stack with a role that may list tables and buckets. Returns the role's ARN."""
    trusted = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    properties = {
        "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [trusted]},
        "Policies": [{"PolicyName": "May", "PolicyDocument": policy("dynamodb:ListTables", "sqs:ListQueues")}],
        **({"PermissionsBoundary": boundary} if boundary else {}),
    }
    output = {"Role": {"Value": {"Fn::GetAtt": ["Role", "Arn"]}}}
    body = json.dumps({"Resources": {"Role": {"Type": "AWS::IAM::Role", "Properties": properties}}, "Outputs": output})
    client = account.client("cloudformation")
    call = client.update_stack if deployed(client, stack) else client.create_stack
    call(StackName=stack, TemplateBody=body, Capabilities=["CAPABILITY_IAM"])

    def described() -> Deployed:
        found = deployed(client, stack)
        assert found
        return found

    eventually(lambda: described().status in {"CREATE_COMPLETE", "UPDATE_COMPLETE"})
    return described().outputs["Role"]


def allowed(account: Account, role: str) -> tuple[bool, bool]:
    """Return whether the role may list tables, and whether it may list queues."""

    def may(service: str, call: str) -> bool:
        try:
            getattr(account.assumed(role, service), call)()
        except ClientError:
            return False
        return True

    return may("dynamodb", "list_tables"), may("sqs", "list_queues")


def test_ministack_still_drops_the_boundary_of_a_template(upstream: Account) -> None:
    role = deploy(upstream, f"b-{uuid.uuid4().hex[:8]}", bound(upstream, "dynamodb:*"))

    assert allowed(upstream, role) == (True, True), still_there("boundaries", "the boundary of a role in a template")


def test_boundary_of_a_template_limits_its_role(ours: Account) -> None:
    stack = f"b-{uuid.uuid4().hex[:8]}"

    assert allowed(ours, deploy(ours, stack, bound(ours, "dynamodb:*"))) == (True, False)
    assert allowed(ours, deploy(ours, stack, bound(ours, "sqs:*"))) == (False, True)
    assert allowed(ours, deploy(ours, stack, None)) == (True, True)
