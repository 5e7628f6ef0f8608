"""The queues on the running stack: duplicates, poison messages, redrive, and notices with the group of their tenant."""

import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stepwise.operations.stack import Row, Stack
from tests.kit.belongings import RUN
from tests.kit.deployed_commands import Versions
from tests.kit.deployed_imports import ProductImports, csv_text, product
from tests.kit.injection import Resources, eventually
from tests.kit.project import ROOT, read_json
from tests.kit.template import of_type

pytestmark = pytest.mark.local_only("change the timeouts of queues, and leave messages in them")

QUEUES = ("TaskActionQueue", "ImportActionQueue")

type Publish = Callable[..., None]


@pytest.fixture(scope="module", autouse=True)
def _quick(stack: Stack, resources: Resources) -> Iterator[None]:
    """Let a failed message be redelivered after a second."""
    sqs = stack.client("sqs")
    before = {name: attribute(stack, resources[name], "VisibilityTimeout") for name in QUEUES}
    for name in QUEUES:
        sqs.set_queue_attributes(QueueUrl=resources[name], Attributes={"VisibilityTimeout": "1"})
    yield
    for name, value in before.items():
        sqs.set_queue_attributes(QueueUrl=resources[name], Attributes={"VisibilityTimeout": value})


@pytest.fixture
def tenant() -> str:
    return f"{RUN[:30]}-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def publish(stack: Stack, tenant: str) -> Publish:
    """Publish a message to the topic, as other systems do."""

    def send(action: str, message: Any, times: int = 1) -> None:
        for _ in range(times):
            stack.client("sns").publish(
                TopicArn=stack.outputs["NotificationTopicArn"],
                Message=json.dumps(message),
                MessageAttributes={"action": {"DataType": "String", "StringValue": action}},
                MessageGroupId=tenant,
            )

    return send


@pytest.fixture(scope="module")
def heard(stack: Stack) -> Iterator[Callable[[str], list[Any]]]:
    """The raw notices about a name since the module began, each with its group."""
    sns, sqs = stack.client("sns"), stack.client("sqs")
    url = sqs.create_queue(QueueName=f"notices-{uuid.uuid4().hex}")["QueueUrl"]
    arn = attribute(stack, url, "QueueArn")
    statement = {"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [{**statement, "Resource": arn}]})
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
    deployed = {"RawMessageDelivery": "true", "FilterPolicy": json.dumps({"action": ["notification"]})}
    topic = stack.outputs["NotificationTopicArn"]
    subscription = sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=deployed)["SubscriptionArn"]
    seen: list[tuple[str, Any]] = []

    def read(name: str) -> list[Any]:
        answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"])
        for message in answer.get("Messages", []):
            seen.append((message["Attributes"]["MessageGroupId"], json.loads(message["Body"])))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return [(group, notice) for group, notice in seen if notice["id"] == name]

    yield read
    sns.unsubscribe(SubscriptionArn=subscription)
    sqs.delete_queue(QueueUrl=url)


def attribute(stack: Stack, url: str, name: str) -> str:
    found = stack.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=[name])
    return str(found["Attributes"][name])


def waiting(stack: Stack, url: str) -> int:
    """The number of messages in a queue, visible or not."""
    return sum(int(attribute(stack, url, f"ApproximateNumberOfMessages{kind}")) for kind in ("", "NotVisible"))


def created(stack: Stack, tenant: str, import_id: str) -> None:
    """Create an import whose new row is not started by a stream record."""
    products = ProductImports(stack, tenant)
    key = products.upload(csv_text([product(1)]))
    version = stack.client("s3").head_object(Bucket=products.bucket, Key=key)["VersionId"]
    (row, _) = read_json(ROOT / "events/imports/follow_imports.json")["Records"]
    texts = {"pk": f"TENANT#{tenant}", "sk": f"IMPORT#{import_id}", "tenant_code": tenant, "import_id": import_id}
    texts |= {"first_import_id": import_id, "key": key, "version_id": version, "processing_mode": "DIRECT"}
    # The sweep leaves it alone.
    texts["created_at"] = "2100-01-01T00:00:00+00:00"
    item = {**row["dynamodb"]["NewImage"], **{name: {"S": value} for name, value in texts.items()}}
    table = stack.outputs["ImportsTable"]
    stack.dynamodb.put_item(TableName=table, Item=item)
    stack.dynamodb.update_item(
        TableName=table,
        Key={"pk": item["pk"], "sk": item["sk"]},
        UpdateExpression="SET processing_mode = :machine",
        ExpressionAttributeValues={":machine": {"S": "STEP_FUNCTION"}},
    )


def leases(stack: Stack, name: str) -> list[Row]:
    """The leases of messages about an import or a task."""
    return [row for row in stack.rows("IdempotencyTable") if row["pk"].startswith(f"{name}/")]


def test_duplicate_messages_start_an_import_once(
    stack: Stack, resources: Resources, publish: Publish, tenant: str, heard: Callable[[str], list[Any]]
) -> None:
    import_id = uuid.uuid4().hex
    created(stack, tenant, import_id)
    message = {"import_id": import_id, "tenant_code": tenant}
    publish("import-action", message, times=3)
    stack.client("sqs").send_message(QueueUrl=stack.outputs["ImportActionQueueUrl"], MessageBody=json.dumps(message))
    row = ProductImports(stack, tenant).ended(import_id)
    eventually(lambda: waiting(stack, resources["ImportActionQueue"]) == 0)
    (own,) = leases(stack, f"{tenant}/{import_id}")

    assert row["status"] == "COMPLETED"
    assert (own["status"], own["attempt"], json.loads(own["result"])) == ("COMPLETED", 1, "CREATED")
    ((group, notice),) = once_told(heard, import_id)
    assert (group, notice["status"], notice["data"]["succeeded_rows"]) == (tenant, "COMPLETED", 1)


def test_poison_message_is_kept_with_an_alarm_and_redriven(
    stack: Stack, resources: Resources, publish: Publish, tenant: str, stack_options: list[str]
) -> None:
    import_id = uuid.uuid4().hex
    message = {"import_id": import_id, "tenant_code": tenant}
    publish("import-action", message)
    queue = resources["ImportActionFailuresQueue"]
    dead = poisoned(stack, queue, import_id)
    receives = of_type("AWS::SQS::Queue")["ImportActionQueue"]["RedrivePolicy"]["maxReceiveCount"] + 1
    own = dead["Attributes"]
    assert (own["MessageGroupId"], own["ApproximateReceiveCount"]) == (tenant, str(receives))
    (alarm,) = stack.client("cloudwatch").describe_alarms(AlarmNames=[resources["MessagesFailedAlarm"]])["MetricAlarms"]
    assert queue.rpartition("/")[2] in json.dumps(alarm["Metrics"])

    created(stack, tenant, import_id)
    listed = stepwise(stack_options, "list")
    redriven = stepwise(stack_options, "redrive", "ImportActionFailuresQueue", "--yes")
    again = stepwise(stack_options, "redrive", "ImportActionFailuresQueue", "--yes")

    assert "redrive ImportActionFailuresQueue" in listed
    assert "1 sent through again, 0 left." in redriven
    assert "ImportActionFailuresQueue is empty." in again
    assert ProductImports(stack, tenant).ended(import_id)["status"] == "COMPLETED"


def test_outcome_is_published_with_its_tenant_as_the_group(
    stack: Stack, tenant: str, run: Callable[..., Any], order: dict[str, Any], heard: Callable[[str], list[Any]]
) -> None:
    versions = Versions(stack, tenant, "o-1")
    versions.publish(1)
    run(order)
    command = f"{versions.sk}@1"
    ((group, told),) = once_told(heard, command)
    ((of_orders, confirmed),) = once_told(heard, order["order_id"])

    assert (group, told["type"], told["status"], told["tenant_code"]) == (tenant, "command", "FINISHED", tenant)
    assert (of_orders, confirmed["status"], confirmed["tenant_code"]) == ("order", "Confirmed", None)


def once_told(heard: Callable[[str], list[Any]], name: str) -> list[Any]:
    eventually(lambda: bool(heard(name)))
    return heard(name)


def poisoned(stack: Stack, url: str, name: str) -> Any:
    """Wait for the message about a name in a dead-letter queue. It stays there."""
    found: list[Any] = []

    def arrived() -> bool:
        answer = stack.client("sqs").receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0, MessageSystemAttributeNames=["All"]
        )
        found.extend(one for one in answer.get("Messages", []) if name in one["Body"])
        return bool(found)

    eventually(arrived)
    return found[0]


def stepwise(options: list[str], *arguments: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "stepwise.cli", "queues", *arguments, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout
