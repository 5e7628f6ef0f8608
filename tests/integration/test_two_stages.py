"""A second stage in the same account: its stack has a name of 40 characters, and its roles have a boundary."""

import json
import uuid
from collections.abc import Iterator

import pytest

from stepwise import STACK_NAME
from stepwise.local.deployment import deploy, resources
from stepwise.local.emulator.emulator import Emulator
from stepwise.operations import orders, stock
from stepwise.operations.stack import Stack
from tests.kit.injection import eventually

pytestmark = pytest.mark.local_only("deploy another stack")

LONG = "a-stack-whose-name-is-forty-letters-long"
# Names of parts of named resources, which both stages may share.
OF_PARTS = {"$default"}
EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


@pytest.fixture(scope="module")
def boundary(stack: Stack) -> str:
    created = stack.client("iam").create_policy(PolicyName="boundary", PolicyDocument=json.dumps(EVERYTHING))
    arn: str = created["Policy"]["Arn"]
    return arn


@pytest.fixture(scope="module")
def second(running: Emulator, boundary: str) -> Iterator[Stack]:
    deploy(running.endpoint, running.log, name=LONG, PermissionsBoundaryArn=boundary)
    deployed = Stack.local(running.endpoint, LONG)
    yield deployed
    deployed.client("cloudformation").delete_stack(StackName=LONG)


def physical(stack: Stack, name: str) -> set[str]:
    return {one["PhysicalResourceId"] for one in resources(stack.client("cloudformation"), name)}


def test_stages_share_no_resource(stack: Stack, second: Stack) -> None:
    assert physical(stack, STACK_NAME) & physical(second, LONG) == OF_PARTS


def test_every_role_has_the_boundary(second: Stack, boundary: str) -> None:
    roles = [name for _, name in second.resources(LONG, "AWS::IAM::Role")]
    found = [second.client("iam").get_role(RoleName=name)["Role"] for name in roles]

    assert {role["PermissionsBoundary"]["PermissionsBoundaryArn"] for role in found} == {boundary}


def test_order_of_one_stage_leaves_the_other_alone(stack: Stack, second: Stack) -> None:
    order_id, sku = f"o-{uuid.uuid4().hex[:8]}", f"sku-{uuid.uuid4().hex[:8]}"
    stock.seed(second, {sku: 3})

    orders.place(
        second,
        {
            "order_id": order_id,
            "customer_id": "c-1",
            "currency": "JPY",
            "items": [{"sku": sku, "quantity": 2, "unit_price": 1500}],
            "payment": {"method": "card", "token": "tok_visa"},
        },
    )

    eventually(lambda: (second.row("OrdersTable", order_id=order_id) or {}).get("status") == "Confirmed")
    assert stack.row("OrdersTable", order_id=order_id) is None
    assert stock.listed(second) == [{"sku": sku, "on_hand": 1, "shards": 1}]
