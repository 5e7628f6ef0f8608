"""`make teardown`: deletes a stack with its data, which `sam delete` retains."""

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from botocore.exceptions import BotoCoreError, ClientError

from stepwise.local import terminal
from stepwise.local.deployment import FAILED_CREATION, resources
from stepwise.local.drawing import Screen

from .preflight.target import Target

_TABLE = "AWS::DynamoDB::Table"
_POLLS = {"Delay": 5, "MaxAttempts": 720}
_GONE = {"NoSuchBucket", "ResourceNotFoundException"}


class Refused(Exception):
    """Nothing was deleted; the message says why."""


def teardown(target: Target, confirm: Callable[[], str]) -> None:
    """Delete the stack, and then the tables, buckets, secrets and parameters that it retains.

    Raises Refused unless `confirm` returns the stack's name, or if tables are protected: then the stack is in use.
    A first deployment that failed is not in use, even if it left protected tables.
    """
    stack, name = target.deployed, target.stack_name
    if stack is None:
        raise Refused(f"there is no stack {name} in {target.region}")
    failed = stack.status in FAILED_CREATION
    if stack.parameters.get("DeletionProtection") == "true" and not failed:
        raise Refused("its tables are protected: first deploy it with DeletionProtection=false")
    cloudformation = target.client("cloudformation")
    kept = [one for one in resources(cloudformation, name) if one["ResourceType"] in _DELETIONS]
    Screen().print(*(one["PhysicalResourceId"] for one in kept), "Deletes these, with all data.", sep="\n")
    if confirm() != name:
        raise Refused("not confirmed")
    if failed:
        _unprotect(target, [one["PhysicalResourceId"] for one in kept if one["ResourceType"] == _TABLE])
    cloudformation.delete_stack(StackName=name)
    cloudformation.get_waiter("stack_delete_complete").wait(StackName=name, WaiterConfig=_POLLS)
    for one in kept:
        _delete(target, one["ResourceType"], one["PhysicalResourceId"])
    _delete_parameters(target)


def _unprotect(target: Target, tables: list[str]) -> None:
    dynamodb = target.client("dynamodb")
    for table in tables:
        with suppress(dynamodb.exceptions.ResourceNotFoundException):
            if dynamodb.describe_table(TableName=table)["Table"].get("DeletionProtectionEnabled"):
                dynamodb.update_table(TableName=table, DeletionProtectionEnabled=False)


def _delete(target: Target, kind: str, physical_id: str) -> None:
    """Delete a resource with its data, unless it is already gone."""
    try:
        _DELETIONS[kind](target, physical_id)
    except ClientError as error:
        if error.response["Error"]["Code"] not in _GONE:
            raise


def _delete_table(target: Target, name: str) -> None:
    target.client("dynamodb").delete_table(TableName=name)


def _delete_bucket(target: Target, name: str) -> None:
    bucket = target.session.resource("s3").Bucket(name)
    bucket.object_versions.delete()
    bucket.delete()


def _delete_secret(target: Target, arn: str) -> None:
    target.client("secretsmanager").delete_secret(SecretId=arn, ForceDeleteWithoutRecovery=True)


def _delete_parameters(target: Target) -> None:
    """Delete the addresses and secrets of webhooks."""
    ssm = target.client("ssm")
    pages = ssm.get_paginator("get_parameters_by_path").paginate(Path=f"/{target.stack_name}/webhooks", Recursive=True)
    for name in [one["Name"] for page in pages for one in page["Parameters"]]:
        ssm.delete_parameter(Name=name)


_DELETIONS: dict[str, Callable[[Target, str], None]] = {
    _TABLE: _delete_table,
    "AWS::S3::Bucket": _delete_bucket,
    "AWS::SecretsManager::Secret": _delete_secret,
}


def main(arguments: Sequence[str]) -> int:
    """Run the command. Returns 1 if the stack was not deleted, or not everything."""
    parser = argparse.ArgumentParser(prog="make teardown", description=__doc__)
    parser.add_argument("stack")
    stack = parser.parse_args(arguments).stack
    try:
        teardown(Target(stack), lambda: input("Type the name of the stack to delete it: "))
    except (BotoCoreError, ClientError, EOFError, Refused) as error:
        parser.exit(1, f"{parser.prog}: {error or 'not confirmed'}\n")
    return 0


if __name__ == "__main__":
    terminal.install()
    sys.exit(main(sys.argv[1:]))
