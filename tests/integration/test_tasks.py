"""Tasks on the running stack: both types, failures and their alarm, a retry, a stopped execution."""

import json
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepwise.local.emulator import emulator
from stepwise.operations import commands
from stepwise.operations import tasks as operations
from stepwise.operations.functions import call as invoke
from stepwise.operations.stack import Stack
from stepwise.operations.tasks import TaskView
from tasks.state import Status, TaskKey
from tests.kit.belongings import RUN
from tests.kit.deployed_commands import product
from tests.kit.injection import eventually

pytestmark = pytest.mark.local_only("publish versions, whose keys nothing may remove")


@pytest.fixture
def tenant() -> str:
    """The test's own tenant."""
    return f"{RUN[:30]}-{uuid.uuid4().hex[:8]}"


def ended(stack: Stack, key: TaskKey) -> TaskView:
    *_, last = operations.follow(stack, key)
    return last


def create(stack: Stack, tenant: str, task_type: str, *items: dict[str, str], **fields: Any) -> TaskKey:
    request = {"task_type": task_type, "tenant_code": tenant, "items": [*items], **fields}
    return operations.create(stack, request)


def rebuild(stack: Stack, tenant: str, count: int) -> TaskKey:
    """A task whose items all succeed."""
    commands.publish(stack, product(tenant, "tea-01", mode="sync"))
    return create(stack, tenant, "rebuild-read-model", *[{"pk": f"TENANT#{tenant}", "sk": "PRODUCT#tea-01"}] * count)


def objects(stack: Stack, *contents: bytes) -> list[dict[str, str]]:
    bucket, items = stack.outputs["JobsBucket"], []
    for content in contents:
        items.append({"bucket": bucket, "key": f"{RUN}/{uuid.uuid4().hex}"})
        stack.client("s3").put_object(Bucket=bucket, Key=items[-1]["key"], Body=content)
    return items


def test_retry_runs_only_the_failed_items(stack: Stack, tenant: str, alerts: Callable[[str], list[Any]]) -> None:
    first, missing, third = objects(stack, b"one\n", b"two\n", b"three\n")
    stack.client("s3").delete_object(Bucket=missing["bucket"], Key=missing["key"])
    key = create(stack, tenant, "checksum-object", first, missing, third, task_id="checksums")
    assert create(stack, tenant, "checksum-object", first, missing, third, task_id="checksums") == key
    seen = ended(stack, key)

    assert seen.task.status is Status.COMPLETED_WITH_FAILURES
    assert [str(item.status) for item in seen.items] == ["COMPLETED", "FAILED", "COMPLETED"]
    assert seen.items[0].values["result"]["size"] == 4
    (failed,) = seen.failed
    assert failed.error
    assert failed.error.type == "JobFailed"
    assert "ObjectNotReadable" in failed.error.message
    execution = stack.stepfunctions.describe_execution(
        executionArn=f"{stack.outputs['TaskArn'].replace(':stateMachine:', ':execution:')}:{key.execution(1)}"
    )
    eventually(lambda: _status_of(stack, execution["executionArn"]) == "SUCCEEDED")
    (alarm,) = alerts(f"TENANT#{tenant}#TASK#checksums")
    assert (alarm["action"], alarm["table"], alarm["tenant_code"]) == ("sfn-alarm", stack.outputs["TasksTable"], tenant)
    assert alarm["content"] == {
        "error_message": "COMPLETED_WITH_FAILURES: 1 of 3 items failed: 0002 JobFailed",
        "execution": key.execution(1),
    }

    stack.client("s3").put_object(Bucket=missing["bucket"], Key=missing["key"], Body=b"two\n")
    assert operations.retry(stack, key) == 1
    seen = ended(stack, key)
    assert seen.task.status is Status.COMPLETED
    assert [item.attempts for item in seen.items] == [1, 2, 1]
    assert [one["error"]["type"] for one in seen.items[1].values["history"]] == ["JobFailed"]


def test_read_model_is_rebuilt(stack: Stack, tenant: str) -> None:
    commands.publish(stack, product(tenant, "tea-01", mode="sync"))
    row = {"pk": f"TENANT#{tenant}#CATEGORY#tea", "sk": "PRODUCT#tea-01"}
    eventually(lambda: stack.row("ProductsTable", **row))
    for lost in (row, {"pk": f"TENANT#{tenant}", "sk": "PRODUCT#tea-01"}):
        stack.dynamodb.delete_item(
            TableName=stack.outputs["ProductsTable"], Key={name: {"S": text} for name, text in lost.items()}
        )
    items = [{"pk": f"TENANT#{tenant}", "sk": f"PRODUCT#{code}"} for code in ("tea-01", "unknown")]
    seen = ended(stack, create(stack, tenant, "rebuild-read-model", *items))

    assert seen.items[0].values["result"] == {"targets": {"catalog": 1, "products": 1}}
    assert stack.row("ProductsTable", **row)
    assert [item.error.type for item in seen.failed if item.error] == ["NothingPublished"]


def test_concurrency_of_items_never_exceeds_the_limit(stack: Stack, tenant: str) -> None:
    key = rebuild(stack, tenant, 12)
    spans = [(item.values["started_at"], item.values["ended_at"]) for item in ended(stack, key).items]
    at_once = [sum(begin <= moment < end for begin, end in spans) for moment, _ in spans]

    assert max(at_once) == 2


def test_sweep_and_list_find_nothing_open(stack: Stack, tenant: str) -> None:
    key = rebuild(stack, tenant, 1)
    ended(stack, key)
    (listed,) = operations.of_tenant(stack, tenant, Status.COMPLETED, 10)

    assert listed.key == key
    assert operations.of_tenant(stack, tenant, Status.FAILED, 10) == []
    assert invoke(stack, "SweepTasks", {}, {})["failed"] == 0
    assert key not in [task.key for task in operations.running(stack)]


def test_command_line_shows_failed_items_and_retries_them(
    stack: Stack, tenant: str, stack_options: list[str], tmp_path: Path
) -> None:
    def stepwise(*arguments: str) -> tuple[int, str]:
        command = [str(emulator.ROOT / "stepwise"), "tasks", *arguments, *stack_options]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout + ended.stderr

    (tmp_path / "items.json").write_text(json.dumps([{"pk": f"TENANT#{tenant}", "sk": "PRODUCT#tea-01"}]))
    (tmp_path / "bad.json").write_text("[{")
    name, options = f"{tenant}/rebuild", ("--tenant", tenant, "--type", "rebuild-read-model", "--task-id", "rebuild")
    failed = stepwise("create", str(tmp_path / "items.json"), *options)
    shown = stepwise("show", name, "--items")
    commands.publish(stack, product(tenant, "tea-01", mode="sync"))
    retried = stepwise("retry", name)

    assert failed[0] == 1
    assert f"Task {name}" in failed[1]
    for _, text in (failed, shown):
        assert "0001 │ NothingPublished │ PRODUCT#tea-01: nothing was published" in text
        assert f"/stepwise tasks retry {name} {' '.join(stack_options)}" in text
    assert retried[0] == 0, retried[1]
    assert f"Failed items of {name} that run again: 1" in retried[1]
    assert "attempt 1" in stepwise("show", name)[1]
    code, listed = stepwise("list", "--tenant", tenant, "--status", "COMPLETED")
    assert (code, name in listed) == (0, True)
    assert name not in stepwise("list")[1]
    for arguments, message in (
        (("create", str(tmp_path / "bad.json"), *options), "Invalid value for FILE: "),
        (("retry", name), "InvalidTask: task_id: no item has failed"),
    ):
        code, text = stepwise(*arguments)
        assert (code, message in text) == (2, True), text


def _status_of(stack: Stack, arn: str) -> str:
    return str(stack.stepfunctions.describe_execution(executionArn=arn)["status"])
