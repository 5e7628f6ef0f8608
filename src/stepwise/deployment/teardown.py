"""`make teardown`: deletes a stack with its data, which `sam delete` retains."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from stepwise.deployment.stages import Deployed
from stepwise.local import terminal
from stepwise.local.deployment import FAILED_CREATION, resources
from stepwise.local.drawing import Screen

from .preflight.target import Target

_STACK = "AWS::CloudFormation::Stack"
_TABLE = "AWS::DynamoDB::Table"
_POLLS = {"Delay": 5, "MaxAttempts": 720}
# HeadBucket's code is 404.
_GONE = {"404", "NoSuchBucket", "ResourceNotFoundException"}
_PROTECTED = "its tables are protected: first deploy it with DeletionProtection=false"


class Refused(Exception):
    """Nothing was deleted; the message has the reason."""


def teardown(target: Target, confirm: Callable[[], str]) -> None:
    """Delete the stack, and then the tables, buckets, secrets and parameters that it retains.

    Continues a teardown that stopped halfway, even after the stack was deleted.
    Raises Refused unless `confirm` returns the stack's name, or if tables are protected, because the stack is then in
    use. After a failed first deployment, the stack is not in use even if protected tables remain.
    """
    stack, name, cloudformation = target.deployed, target.stack_name, target.client("cloudformation")
    failed = stack is not None and stack.status in FAILED_CREATION
    if stack and stack.parameters.get("DeletionProtection") == "true" and not failed:
        raise Refused(_PROTECTED)
    kept = [one for one in _kept(cloudformation, name, stack) if _is_left(target, *one)]
    if stack is None and not kept and not list(_parameters(target)):
        raise Refused(f"there is no stack {name} in {target.region}")
    tables = [physical_id for kind, physical_id in kept if kind == _TABLE]
    if stack is None and any(_is_protected(target, table) for table in tables):
        raise Refused(_PROTECTED)
    Screen().print(*(physical_id for _, physical_id in kept), "These will be deleted with all data.", sep="\n")
    if confirm() != name:
        raise Refused("not confirmed")
    if failed:
        _unprotect(target, tables)
    if stack:
        cloudformation.delete_stack(StackName=name)
        cloudformation.get_waiter("stack_delete_complete").wait(StackName=name, WaiterConfig=_POLLS)
    for kind, physical_id in kept:
        _delete(target, kind, physical_id)
    for parameter in list(_parameters(target)):
        target.client("ssm").delete_parameter(Name=parameter)


def _kept(cloudformation: Any, name: str, stack: Deployed | None) -> list[tuple[str, str]]:
    """Return types and physical ids of resources with data, in the stack or retained when it was (partly) deleted."""
    found = list[tuple[str, str]]()
    root = name if stack else _deleted(cloudformation, name)
    if stack:
        found += ((one["ResourceType"], one["PhysicalResourceId"]) for one in resources(cloudformation, name))
    if root and (stack is None or stack.status in FAILED_CREATION or stack.status.startswith("DELETE_")):
        found += _retained(cloudformation, root)
    return [one for one in dict.fromkeys(found) if one[0] in _KINDS]


def _deleted(cloudformation: Any, name: str) -> str | None:
    """Return the id of the last stack with this name; None if CloudFormation, which keeps it for 90 days, has none."""
    pages = cloudformation.get_paginator("list_stacks").paginate(StackStatusFilter=["DELETE_COMPLETE"])
    found = [one for page in pages for one in page["StackSummaries"] if one["StackName"] == name]
    return max(found, key=itemgetter("CreationTime"))["StackId"] if found else None


def _retained(cloudformation: Any, stack: str) -> Iterator[tuple[str, str]]:
    """Yield the types and physical ids of resources that CloudFormation retained when it deleted a stack."""
    nested = dict[str, None]()
    for page in cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack):
        for event in page["StackEvents"]:
            kind, physical_id = event["ResourceType"], event.get("PhysicalResourceId", "")
            if not physical_id or physical_id == event["StackId"]:
                continue
            if event["ResourceStatus"] == "DELETE_SKIPPED":
                yield kind, physical_id
            elif kind == _STACK:
                nested[physical_id] = None
    for one in nested:
        yield from _retained(cloudformation, one)


def _is_left(target: Target, kind: str, physical_id: str) -> bool:
    try:
        _KINDS[kind].describe(target, physical_id)
    except ClientError as error:
        if error.response["Error"]["Code"] not in _GONE:
            raise
        return False
    return True


def _is_protected(target: Target, table: str) -> bool:
    return bool(_describe_table(target, table).get("DeletionProtectionEnabled"))


def _unprotect(target: Target, tables: list[str]) -> None:
    for table in tables:
        if _is_protected(target, table):
            target.client("dynamodb").update_table(TableName=table, DeletionProtectionEnabled=False)


def _delete(target: Target, kind: str, physical_id: str) -> None:
    """Delete a resource with its data, unless it is already gone."""
    try:
        _KINDS[kind].delete(target, physical_id)
    except ClientError as error:
        if error.response["Error"]["Code"] not in _GONE:
            raise


def _describe_table(target: Target, name: str) -> dict[str, Any]:
    return dict(target.client("dynamodb").describe_table(TableName=name)["Table"])


def _delete_table(target: Target, name: str) -> None:
    target.client("dynamodb").delete_table(TableName=name)


def _describe_bucket(target: Target, name: str) -> None:
    target.client("s3").head_bucket(Bucket=name)


def _delete_bucket(target: Target, name: str) -> None:
    bucket = target.session.resource("s3").Bucket(name)
    bucket.object_versions.delete()
    bucket.delete()


def _describe_secret(target: Target, arn: str) -> None:
    target.client("secretsmanager").describe_secret(SecretId=arn)


def _delete_secret(target: Target, arn: str) -> None:
    target.client("secretsmanager").delete_secret(SecretId=arn, ForceDeleteWithoutRecovery=True)


def _parameters(target: Target) -> Iterator[str]:
    """Yield the names of the parameters with the addresses and secrets of webhooks."""
    pages = target.client("ssm").get_paginator("get_parameters_by_path")
    for page in pages.paginate(Path=f"/{target.stack_name}/webhooks", Recursive=True):
        yield from (one["Name"] for one in page["Parameters"])


@dataclass(frozen=True, slots=True)
class _Kind:
    """A type of resource with data. describe: fails with a code of `_GONE` if the resource does not exist."""

    describe: Callable[[Target, str], object]
    delete: Callable[[Target, str], None]


_KINDS = {
    _TABLE: _Kind(_describe_table, _delete_table),
    "AWS::S3::Bucket": _Kind(_describe_bucket, _delete_bucket),
    "AWS::SecretsManager::Secret": _Kind(_describe_secret, _delete_secret),
}


def main(arguments: Sequence[str]) -> int:
    """Run the command. Exits with 1 if the stack was not deleted completely."""
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
