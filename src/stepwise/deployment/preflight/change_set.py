"""Creates a change set, never executes it, and deletes it with everything that it needed."""

import json
import re
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from botocore.exceptions import WaiterError

from stepwise.deployment.application import files, nested, placed
from stepwise.deployment.stages import deployed
from stepwise.deployment.templates import Template, load
from stepwise.deployment.translation import uploaded

from .part import Finding, NotReached, Verdict
from .target import Target

# Stack with the bucket of `sam deploy --resolve-s3`.
_SAM = "aws-sam-cli-managed-default"
_HOLDS_DATA = {"AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key", "AWS::SecretsManager::Secret"}
_TRY_WITHOUT = "if the templates are right, try without: SKIP=change-set"
_NOTHING_CHANGED = ("didn't contain changes", "No updates are to be performed")


def examine(target: Target, bucket: str = "", *, make: bool = False) -> Iterator[Finding]:
    """Examine the changes.

    bucket: holds the templates temporarily; by default, SAM's bucket. make: create SAM's bucket if it is missing.
    """
    bucket = bucket or _bucket(target, make)
    with ExitStack() as undone:
        address = _put(target, bucket, undone)
        client, name = target.client("cloudformation"), f"preflight-{uuid.uuid4()}"
        made = client.create_change_set(
            StackName=target.stack_name,
            ChangeSetName=name,
            ChangeSetType="UPDATE" if _stands(target) else "CREATE",
            TemplateURL=address,
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
            IncludeNestedStacks=True,
            Parameters=_parameters(target),
        )
        undone.callback(_delete, client, made, with_stack=target.deployed is None)
        yield from _found(client, made["Id"])


def _bucket(target: Target, make: bool) -> str:
    client = target.client("cloudformation")
    sam = deployed(client, _SAM)
    if sam is None and make:
        _make_bucket(target.region)
        sam = deployed(client, _SAM)
    if sam is None or "SourceBucket" not in sam.outputs:
        raise NotReached(
            f"there is no bucket for the template. MAKE_BUCKET=1 creates the stack {_SAM}, as the first `sam deploy` "
            "does anyway; BUCKET=NAME uses a bucket of yours"
        )
    return sam.outputs["SourceBucket"]


def _make_bucket(region: str) -> None:
    """Let SAM create its stack, which `sam package` does before it reads the template."""
    with TemporaryDirectory() as folder:
        template = Path(folder, "template.json")
        template.write_text(
            json.dumps({"Resources": {"Nothing": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}})
        )
        command = ["sam", "package", "--resolve-s3", "--region", region, "--template-file", str(template)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise NotReached(f"sam package: {ended.stderr.strip()}")


def _put(target: Target, bucket: str, undone: ExitStack) -> str:
    """Put the templates into the bucket until the end. Returns the root's address."""
    root, *below = files(target.path)
    addresses = {path.resolve(): _put_one(target, load(path), bucket, undone) for path in below}
    template = load(root)
    places = {name: addresses[(root.parent / place).resolve()] for name, place in nested(template).items()}
    return _put_one(target, placed(template, places), bucket, undone)


def _put_one(target: Target, template: Template, bucket: str, undone: ExitStack) -> str:
    s3, key = target.client("s3"), f"preflight/{uuid.uuid4()}.template"
    body = json.dumps(uploaded(template, f"s3://{bucket}/preflight/"))
    version = s3.put_object(Bucket=bucket, Key=key, Body=body.encode()).get("VersionId")
    only = {"VersionId": version} if version else {}
    undone.callback(s3.delete_object, Bucket=bucket, Key=key, **only)
    return f"{s3.meta.endpoint_url}/{bucket}/{key}"


def _stands(target: Target) -> bool:
    return target.deployed is not None and target.deployed.status != "REVIEW_IN_PROGRESS"


def _parameters(target: Target) -> list[dict[str, Any]]:
    """Return the parameters that a deployment would pass; the others keep the stack's values."""
    standing = target.deployed.parameters if target.deployed and _stands(target) else {}
    kept = [name for name in standing if name in target.template["Parameters"] and name not in target.said]
    said = [{"ParameterKey": name, "ParameterValue": value} for name, value in target.said.items()]
    return [*said, *({"ParameterKey": name, "UsePreviousValue": True} for name in kept)]


def _delete(client: Any, made: dict[str, str], *, with_stack: bool) -> None:
    """Delete the change set and, if it created one, the empty stack."""
    client.delete_change_set(ChangeSetName=made["Id"])
    if not with_stack:
        return
    (stack,) = client.describe_stacks(StackName=made["StackId"])["Stacks"]
    if stack["StackStatus"] == "REVIEW_IN_PROGRESS":
        client.delete_stack(StackName=made["StackId"])


def _found(client: Any, change_set: str) -> Iterator[Finding]:
    backoff = {"Delay": 2, "MaxAttempts": 150}
    try:
        client.get_waiter("change_set_create_complete").wait(ChangeSetName=change_set, WaiterConfig=backoff)
    except WaiterError:
        yield from _failed(client, change_set)
    else:
        yield from _changed(list(_changes(client, change_set)))
    yield from _invalid(client, change_set)


def _failed(client: Any, change_set: str, stack: str = "") -> Iterator[Finding]:
    """Yield the reasons for a failed change set, also from nested ones, because the root's only names those.

    stack: the nested stack of the change set.
    """
    answer, *more = client.get_paginator("describe_change_set").paginate(ChangeSetName=change_set)
    reason = answer.get("StatusReason", answer["Status"])
    if any(text in reason for text in _NOTHING_CHANGED):
        yield from () if stack else (Finding("change set", Verdict.OK, reason),)
    elif not stack or answer["Status"] == "FAILED":
        yield Finding(stack or "change set", Verdict.FAILED, reason if stack else f"{reason}\n{_TRY_WITHOUT}")
        changes = (change["ResourceChange"] for page in (answer, *more) for change in page.get("Changes", []))
        listed = {change["ChangeSetId"]: change["LogicalResourceId"] for change in changes if "ChangeSetId" in change}
        # A failed change set may be empty.
        named = {one: one.split("/")[1] for one in re.findall(r"arn:\S+:changeSet/\S+", reason)}
        for below, name in (named | listed).items():
            yield from _failed(client, below, name)


def _changes(client: Any, change_set: str) -> Iterator[Any]:
    """Yield every change, including those of nested stacks."""
    for page in client.get_paginator("describe_change_set").paginate(ChangeSetName=change_set):
        for change in page["Changes"]:
            yield change["ResourceChange"]
            if below := change["ResourceChange"].get("ChangeSetId"):
                yield from _changes(client, below)


def _invalid(client: Any, change_set: str) -> Iterator[Finding]:
    """Yield the objections of CloudFormation's early validation to a resource."""
    for page in client.get_paginator("describe_events").paginate(ChangeSetName=change_set):
        for event in page["OperationEvents"]:
            if event.get("ValidationStatus") == "FAILED":
                verdict = Verdict.LOOK if event.get("ValidationFailureMode") == "WARN" else Verdict.FAILED
                detail = f"{event.get('ValidationPath', '')} {event.get('ValidationStatusReason', '')}".strip()
                yield Finding(event.get("LogicalResourceId", "template"), verdict, detail)


def _changed(changes: list[Any]) -> Iterator[Finding]:
    yield from _lost(changes)
    actions = sorted({change["Action"] for change in changes})
    counted = ", ".join(f"{action} {sum(change['Action'] == action for change in changes)}" for action in actions)
    yield Finding("change set", Verdict.OK, f"can be created: {counted or 'no change'}")


def _lost(changes: list[Any]) -> Iterator[Finding]:
    """Yield resources with data that would be replaced by empty ones, or leave the stack."""
    for change in changes:
        if change["ResourceType"] not in _HOLDS_DATA:
            continue
        if change["Action"] == "Remove":
            yield Finding(change["LogicalResourceId"], Verdict.LOOK, "leaves the stack")
        elif change.get("Replacement") in {"True", "Conditional"}:
            sure = change["Replacement"] == "True"
            detail = f"{'is' if sure else 'may be'} replaced by an empty one"
            yield Finding(change["LogicalResourceId"], Verdict.FAILED if sure else Verdict.LOOK, detail)
