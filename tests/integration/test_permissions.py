"""Each function may do only what it needs, on its own tables."""

import uuid
from collections.abc import Callable

import boto3
import pytest
from botocore.exceptions import ClientError

from stepwise.operations.stack import Stack
from tests.kit.injection import Resources, denied
from tests.kit.local_stack import Document, Invocation
from tests.kit.ministack import Account

FUNCTIONS = {
    "ProcessOrder": "OrdersTable",
    "UpdateOrderStatus": "OrdersTable",
    "ProcessPayment": "PaymentsTable",
    "ProcessRefund": "PaymentsTable",
    "ReserveInventory": "InventoryTable",
    "ReleaseInventory": "InventoryTable",
}
# It reads the shards of a SKU.
READ = {("ReserveInventory", "InventoryTable")}
TABLES = {"OrdersTable": "order_id", "PaymentsTable": "order_id", "InventoryTable": "pk", "IdempotencyTable": "pk"}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_without_its_grant_fails(
    invoke: Callable[[str, object], Invocation], stack: Stack, resources: Resources, order: Document, function: str
) -> None:
    with denied(stack, resources, function):
        refused = invoke(function, order)
    assert refused.error == "UnexpectedFailure"
    assert "AccessDenied" in refused.message
    assert invoke(function, order).error is None


@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_cannot_read_or_delete_rows_or_write_to_another_table(
    stack: Stack, resources: Resources, function: str
) -> None:
    role = as_role(stack, resources[f"{function}Role"])
    for table, key in TABLES.items():
        name, row = stack.outputs[table], {key: {"S": "x"}}
        if (function, table) not in READ:
            is_refused(role.get_item, TableName=name, Key=row)
        is_refused(role.delete_item, TableName=name, Key=row)
        if table not in (FUNCTIONS[function], "IdempotencyTable"):
            is_refused(role.put_item, TableName=name, Item=row)
            is_refused(role.update_item, TableName=name, Key=row)


def test_bucket_policy_lets_only_the_import_read_user_files(stack: Stack, resources: Resources) -> None:
    account, bucket, folder = Account(str(stack.endpoint)), stack.outputs["UsersBucket"], f"manual/{uuid.uuid4().hex}"
    operator = account.assumed(account.role(f"operator-{uuid.uuid4().hex[:8]}", may="s3:*"), "s3")
    reader = account.assumed(f"arn:aws:iam::000000000000:role/{resources['UserCreateRole']}", "s3")
    users, result = f"{folder}/TestFile_20260101.csv", f"{folder}/UserCreateResult_20260101.csv"
    version = operator.put_object(Bucket=bucket, Key=users, Body=b"secret")["VersionId"]
    operator.put_object(Bucket=bucket, Key=result, Body=b"result")

    is_refused(operator.get_object, Bucket=bucket, Key=users)
    is_refused(operator.get_object, Bucket=bucket, Key=users, VersionId=version)
    assert operator.get_object(Bucket=bucket, Key=result)["Body"].read() == b"result"
    assert reader.get_object(Bucket=bucket, Key=users, VersionId=version)["Body"].read() == b"secret"


def as_role(stack: Stack, role: str):
    arn = f"arn:aws:iam::000000000000:role/{role}"
    granted = stack.client("sts").assume_role(RoleArn=arn, RoleSessionName="test")["Credentials"]
    return boto3.client(
        "dynamodb",
        endpoint_url=stack.endpoint,
        region_name="us-east-1",
        aws_access_key_id=granted["AccessKeyId"],
        aws_secret_access_key=granted["SecretAccessKey"],
        aws_session_token=granted["SessionToken"],
    )


def is_refused(call: Callable[..., object], **parameters: object) -> None:
    with pytest.raises(ClientError) as refused:
        call(**parameters)
    assert "AccessDenied" in refused.value.response["Error"]["Code"]
