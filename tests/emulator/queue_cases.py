"""AWS behaviour of topics and standard queues, as far as the stack relies on it."""

import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.emulator.conformance import Case, Lab

_SNS = "SNS developer guide"
_SQS = "SQS developer guide"
_MOVE = "SQS API reference, StartMessageMoveTask"
_SECONDS = 20


@dataclass(frozen=True)
class Pair:
    """A queue and its dead-letter queue, which a message reaches after it was received twice."""

    lab: Lab
    url: str
    dead: str

    @classmethod
    def new(cls, lab: Lab) -> "Pair":
        dead = lab.queue()
        policy = json.dumps({"deadLetterTargetArn": arn(lab, dead), "maxReceiveCount": 2})
        url = lab.queue()
        sqs(lab).set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": policy, "VisibilityTimeout": "0"})
        return cls(lab, url, dead)

    def poisoned(self) -> Any:
        """The message in the dead-letter queue, after one was received and not deleted."""
        sqs(self.lab).send_message(QueueUrl=self.url, MessageBody="poison", MessageGroupId="tenant1")
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            sqs(self.lab).receive_message(QueueUrl=self.url)
            if found := received(self.lab, self.dead, seconds=0, VisibilityTimeout=0):
                return found[0]
        raise TimeoutError("no message in the dead-letter queue")


def sqs(lab: Lab) -> Any:
    return lab.account.client("sqs")


def arn(lab: Lab, url: str) -> str:
    found = sqs(lab).get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return str(found["Attributes"]["QueueArn"])


def received(lab: Lab, url: str, *, seconds: float = _SECONDS, **options: Any) -> list[Any]:
    """The first messages of a queue; none after some seconds."""
    deadline = time.monotonic() + seconds
    while True:
        found: list[Any] = (
            sqs(lab)
            .receive_message(
                QueueUrl=url, MessageSystemAttributeNames=["All"], MessageAttributeNames=["All"], **options
            )
            .get("Messages", [])
        )
        if found or time.monotonic() >= deadline:
            return found
        time.sleep(0.02)


def published(
    lab: Lab,
    attributes: Mapping[str, str],
    subscription: Mapping[str, str],
    *,
    seconds: float = _SECONDS,
    **message: Any,
) -> Any:
    """Publish to a topic. Returns the first message of the queue behind it; None if none arrives soon."""
    sns, url = lab.account.client("sns"), lab.queue()
    topic = sns.create_topic(Name=f"t-{uuid.uuid4().hex[:12]}")["TopicArn"]
    policy = {"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage"}
    document = {"Version": "2012-10-17", "Statement": [{**policy, "Resource": arn(lab, url)}]}
    sqs(lab).set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(document)})
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn(lab, url), Attributes=dict(subscription))
    given = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
    sns.publish(TopicArn=topic, Message="hello", MessageAttributes=given, **message)
    return next(iter(received(lab, url, seconds=seconds)), None)


_FILTER = {"RawMessageDelivery": "true", "FilterPolicy": json.dumps({"action": ["wanted"]})}


def group(lab: Lab) -> Any:
    return published(lab, {}, {"RawMessageDelivery": "true"}, MessageGroupId="tenant1")["Attributes"]["MessageGroupId"]


def raw(lab: Lab) -> Any:
    message = published(lab, {"action": "wanted"}, _FILTER)
    return message["Body"], message["MessageAttributes"]["action"]["StringValue"]


def filtered(attributes: Mapping[str, str]) -> Callable[[Lab], Any]:
    return lambda lab: published(lab, attributes, _FILTER, seconds=2)


def poisoned(lab: Lab) -> Any:
    return Pair.new(lab).poisoned()["Attributes"]["MessageGroupId"]


def moved(lab: Lab) -> Any:
    """A message after its move back: its body and group, if its id is new, and its receive count."""
    pair = Pair.new(lab)
    before = pair.poisoned()
    sqs(lab).start_message_move_task(SourceArn=arn(lab, pair.dead))
    (after,) = received(lab, pair.url)
    own = after["Attributes"]
    fresh = after["MessageId"] != before["MessageId"]
    return after["Body"], own["MessageGroupId"], fresh, own["ApproximateReceiveCount"]


def listed(lab: Lab) -> Any:
    pair = Pair.new(lab)
    pair.poisoned()
    source = arn(lab, pair.dead)
    sqs(lab).start_message_move_task(SourceArn=source)
    deadline = time.monotonic() + _SECONDS
    while (task := sqs(lab).list_message_move_tasks(SourceArn=source)["Results"][0])["Status"] == "RUNNING":
        assert time.monotonic() < deadline
    return task["Status"], task["ApproximateNumberOfMessagesMoved"]


def refused(lab: Lab) -> Any:
    """The error code of a redrive from a queue without a redrive policy; "" if accepted."""
    try:
        sqs(lab).start_message_move_task(SourceArn=arn(lab, lab.queue()))
    except sqs(lab).exceptions.ClientError as error:
        return error.response["Error"]["Code"].rpartition(".")[2]
    return ""


CASES = [
    Case(
        "group_of_a_standard_topic",
        f"{_SNS}, Message attributes: SNS passes the message group ID to standard queues",
        group,
        "tenant1",
        lacking=False,
    ),
    Case(
        "raw_delivery",
        f"{_SNS}, Raw message delivery: the body and the attributes of the published message",
        raw,
        ("hello", "wanted"),
        lacking=False,
    ),
    Case("filter_another_value", f"{_SNS}, Filter policies: any", filtered({"action": "other"}), None, lacking=False),
    Case("filter_no_attribute", f"{_SNS}, Filter policies: all keys", filtered({}), None, lacking=False),
    Case(
        "poison_message",
        f"{_SQS}, Dead-letter queues: moved when the ReceiveCount exceeds the maxReceiveCount",
        poisoned,
        "tenant1",
        lacking=False,
    ),
    Case(
        "redrive_to_the_source",
        f"{_SQS}, Dead-letter queue redrive: redriven messages are new messages with a new messageID",
        moved,
        ("poison", "tenant1", True, "1"),
    ),
    Case("redrive_is_listed", "SQS API reference, ListMessageMoveTasks: Status", listed, ("COMPLETED", 1)),
    Case("redrive_of_a_source_queue", f"{_MOVE}: only ARNs of dead-letter queues", refused, "InvalidParameterValue"),
]
