"""The queues of a stack, and redrives of their failed messages: SQS and S3 by moto."""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import pytest

from stepwise.operations import queues
from stepwise.operations.errors import CommandError
from stepwise.operations.queues import QueueNotFound, QueueView, Redriven
from stepwise.operations.replay.kept import KEPT, REPLAYED
from stepwise.operations.stack import Stack
from tests.kit.command_line import stepwise

JOB = "arn:aws:lambda:us-east-1:123456789012:function:RunJob"
NOTIFY = "arn:aws:lambda:us-east-1:123456789012:function:NotifyOrders"
NOTICES = "FailedNoticeRecordsBucket"
QUEUES = ("ImportActionFailuresQueue", "ImportActionQueue", "JobFailuresQueue")


@dataclass
class Stacks:
    """A CloudFormation client with a root and a nested stack of these queues, alarms and mappings, by logical id."""

    urls: dict[str, str]
    alarms: dict[str, str] = field(default_factory=dict)
    mappings: dict[str, str] = field(default_factory=dict)

    def get_paginator(self, _: str) -> "Stacks":
        return self

    def paginate(self, *, StackName: str) -> Iterator[Any]:
        if StackName == "stepwise":
            yield {"StackResourceSummaries": [_listed("Queues", "AWS::CloudFormation::Stack", "nested")]}
        else:
            yield {"StackResourceSummaries": [_listed("ImportsTable", "AWS::DynamoDB::Table", "table")]}
            queues = [_listed(name, "AWS::SQS::Queue", url) for name, url in self.urls.items()]
            yield {"StackResourceSummaries": queues}
            alarms = [_listed(name, "AWS::CloudWatch::Alarm", physical) for name, physical in self.alarms.items()]
            yield {"StackResourceSummaries": alarms}
            kind = "AWS::Lambda::EventSourceMapping"
            yield {"StackResourceSummaries": [_listed(name, kind, uuid) for name, uuid in self.mappings.items()]}


def _listed(name: str, kind: str, physical: str) -> dict[str, str]:
    return {"LogicalResourceId": name, "ResourceType": kind, "PhysicalResourceId": physical}


@dataclass
class Functions:
    """A Lambda client. failing: the functions that fail. poison: the record on which every function fails."""

    invoked: list[tuple[str, str, Any]] = field(default_factory=list)
    failing: set[str] = field(default_factory=set)
    poison: str = ""

    def invoke(self, *, FunctionName: str, Payload: str, InvocationType: str = "RequestResponse") -> Any:
        event = json.loads(Payload)
        self.invoked.append((FunctionName, InvocationType, event))
        fails = FunctionName in self.failing or {"eventID": self.poison} in event.get("Records", [])
        failed = [{"itemIdentifier": "1"}] if fails else []
        return {"Payload": io.BytesIO(json.dumps({"batchItemFailures": failed}).encode())}


@pytest.fixture
def functions() -> Functions:
    return Functions()


@pytest.fixture
def stack(functions: Functions, aws: Any) -> Stack:
    sqs = aws.client("sqs")
    urls = {name: sqs.create_queue(QueueName=name)["QueueUrl"] for name in QUEUES}
    target = sqs.get_queue_attributes(QueueUrl=urls[QUEUES[0]], AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": target, "maxReceiveCount": 5})
    sqs.set_queue_attributes(QueueUrl=urls[QUEUES[1]], Attributes={"RedrivePolicy": policy})
    aws.client("s3").create_bucket(Bucket="notices")
    made = Stack(aws, None, {NOTICES: "notices"})
    made._clients.update({"lambda": functions, "cloudformation": Stacks(urls)})
    return made


def view(stack: Stack, name: str) -> QueueView:
    return next(one for one in queues.listed(stack, "stepwise") if one.name == name)


def send(stack: Stack, queue: str, body: Any, **attributes: str) -> None:
    given = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
    url, text = view(stack, queue).url, body if isinstance(body, str) else json.dumps(body)
    stack.client("sqs").send_message(QueueUrl=url, MessageBody=text, MessageAttributes=given)


def keep(stack: Stack, name: str, function: str = NOTIFY, *more: str) -> None:
    """Store an object with a record of this name, and of more."""
    records = [{"eventID": one} for one in (name, *more)]
    body = {"requestContext": {"functionArn": function}, "payload": json.dumps({"Records": records})}
    stack.client("s3").put_object(Bucket="notices", Key=f"{KEPT}{name}", Body=json.dumps(body))


def kept(stack: Stack) -> list[str]:
    return [one["Key"] for one in stack.client("s3").list_objects_v2(Bucket="notices").get("Contents", [])]


def test_every_queue_is_listed_with_its_backlog_and_source(stack: Stack) -> None:
    send(stack, "ImportActionQueue", {})
    keep(stack, "one")

    assert [(one.name, one.waiting, one.is_for_failures, one.source) for one in queues.listed(stack, "stepwise")] == [
        ("ImportActionFailuresQueue", 0, True, "ImportActionQueue"),
        ("ImportActionQueue", 1, False, ""),
        ("JobFailuresQueue", 0, True, ""),
        (NOTICES, 1, True, ""),
    ]


@pytest.mark.parametrize("name", ["ImportActionQueue", "Nowhere"])
def test_only_failed_messages_can_be_redriven(stack: Stack, name: str) -> None:
    with pytest.raises(QueueNotFound, match=r"there are: ImportActionFailuresQueue, JobFailuresQueue, "):
        queues.find(stack, "stepwise", name)


def test_order_changes_are_replayed_instead(stack: Stack) -> None:
    keep(stack, "one")
    reports = replace(stack, outputs={"FailedRecordsBucket": "notices"})
    reports._clients.update(stack._clients)
    with pytest.raises(CommandError, match="in the order of its changes") as refused:
        queues.find(reports, "stepwise", "FailedRecordsBucket")

    assert refused.value.see == ("replay", ("--failed",))
    with mock.patch.object(Stack, "local", return_value=reports):
        shown = stepwise("queues", "list").out
    assert ("./stepwise replay --failed" in shown, "redrive FailedRecordsBucket" in shown) == (True, False)


def test_remaining_messages_may_reappear_before_a_long_redrive_ends(stack: Stack) -> None:
    send(stack, "JobFailuresQueue", "no event")
    sqs = stack.client("sqs")
    visible = sqs.exceptions.MessageNotInflight({"Error": {"Code": "MessageNotInflight"}}, "ChangeMessageVisibility")

    with mock.patch.object(sqs, "change_message_visibility", side_effect=visible):
        assert queues.redrive(stack, view(stack, "JobFailuresQueue")) == Redriven(again=0, left=1)


@pytest.mark.parametrize(("moved", "back"), [(0, Redriven(0, 2)), (1, Redriven(1, 1)), (2, Redriven(2, 0))])
def test_messages_that_sqs_does_not_move_are_left(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, moved: int, back: Redriven
) -> None:
    """SQS reports a move of a message that came from no queue as completed."""
    queue, sqs = "ImportActionFailuresQueue", stack.client("sqs")
    for number in range(2):
        send(stack, queue, f"by hand {number}")
    found = view(stack, queue)

    def move(**_: Any) -> None:
        for _number in range(moved):
            (message,) = sqs.receive_message(QueueUrl=found.url)["Messages"]
            sqs.delete_message(QueueUrl=found.url, ReceiptHandle=message["ReceiptHandle"])

    task = {"Status": "COMPLETED", "ApproximateNumberOfMessagesMoved": moved}
    monkeypatch.setattr(sqs, "start_message_move_task", move)
    monkeypatch.setattr(sqs, "list_message_move_tasks", lambda **_: {"Results": [task]})

    assert queues.redrive(stack, found) == back


def test_failed_events_are_redelivered_to_their_function(stack: Stack, functions: Functions) -> None:
    event = {"JobId": "1", "ObjKey": "bucket/key"}
    send(stack, "JobFailuresQueue", {"requestContext": {"functionArn": JOB}, "requestPayload": event})
    send(stack, "JobFailuresQueue", {"detail": {}}, TARGET_ARN=JOB, RULE_ARN="rule")
    send(stack, "JobFailuresQueue", "no event")

    assert queues.redrive(stack, view(stack, "JobFailuresQueue")) == Redriven(again=2, left=1)
    assert sorted(map(str, functions.invoked)) == sorted(
        map(str, [(JOB, "Event", event), (JOB, "Event", {"detail": {}})])
    )
    assert view(stack, "JobFailuresQueue").waiting == 1
    with mock.patch.object(Stack, "local", return_value=stack):
        ended = stepwise("queues", "redrive", "JobFailuresQueue", "--yes")
    assert ended.code == 1
    assert f"aws sqs purge-queue --queue-url {view(stack, 'JobFailuresQueue').url}" in ended.out


def test_notice_record_is_published_again_and_moved_away(stack: Stack, functions: Functions) -> None:
    keep(stack, "one")
    keep(stack, "two", JOB)
    functions.failing.add(JOB)

    assert queues.redrive(stack, view(stack, NOTICES)) == Redriven(again=1, left=1)
    assert kept(stack) == [f"{KEPT}two", f"{REPLAYED}{KEPT}one"]
    assert functions.invoked[0] == (NOTIFY, "RequestResponse", {"Records": [{"eventID": "one"}]})


def test_poison_record_does_not_hold_back_the_ones_behind_it(stack: Stack, functions: Functions) -> None:
    """Lambda may keep the whole rest of a batch in one object."""
    keep(stack, "one", NOTIFY, "two", "three")
    functions.poison = "one"

    assert queues.redrive(stack, view(stack, NOTICES)) == Redriven(again=0, left=1)
    assert [event["Records"][0]["eventID"] for _, _, event in functions.invoked] == ["one", "two", "three"]
    assert kept(stack) == [f"{KEPT}one"]
