"""The queues of a stack: how much waits in each, and how to redrive failures.

Failures are in one of three places: in the dead-letter queue of a queue, which SQS redrives by itself; in the failure
queue of a function or its rule, with the event that the function gets again; or in a bucket of stream records. A
redriven failure is handled once.
"""

import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .daemons import mapped
from .errors import CommandError, Word
from .replay.kept import KEPT, KeptRecords, deliverer
from .stack import Stack

REPORTS = "FailedRecordsBucket"
"""Bucket of changes of orders, which `replay --failed` replays in their order."""
_RECORDS = re.compile(r"Failed\w*RecordsBucket")
_AT_A_TIME = 8
_POLL_SECONDS = 1
# SQS counts within seconds, usually.
_COUNTS = 10
_VISIBILITY_SECONDS = 60
_AT_ONCE = 10


class QueueNotFound(CommandError):
    """The stack has no such queue; the message names those that can be redriven."""


@dataclass(frozen=True, slots=True)
class QueueView:
    """A queue or a bucket of records.

    name: logical id, or output of a bucket. waiting, in_flight: approximate numbers of messages.
    source: for a dead-letter queue, the queue whose messages it gets; empty for the failure queue of a function.
    is_for_failures: whether it can be redriven.
    """

    name: str
    url: str
    arn: str
    waiting: int
    in_flight: int
    is_for_failures: bool
    source: str = ""

    @property
    def holds_records(self) -> bool:
        """True if it is a bucket of stream records."""
        return bool(_RECORDS.fullmatch(self.name))


@dataclass(frozen=True, slots=True)
class Redriven:
    """Numbers of messages: redriven ones, and those left because they hold no event."""

    again: int
    left: int = 0


def listed(stack: Stack, name: str) -> list[QueueView]:
    """Return all queues of the application, and the buckets of stream records. name: the root stack's name."""
    sqs, urls = stack.client("sqs"), dict(stack.resources(name, "AWS::SQS::Queue"))
    attributes = mapped(lambda url: _attributes(sqs, url), list(urls.values()), _AT_A_TIME)
    found = {logical_id: (url, own) for (logical_id, url), own in zip(urls.items(), attributes, strict=True)}
    sources = {
        json.loads(own["RedrivePolicy"])["deadLetterTargetArn"]: logical_id
        for logical_id, (_, own) in found.items()
        if "RedrivePolicy" in own
    }
    views = [_view(logical_id, url, own, sources) for logical_id, (url, own) in sorted(found.items())]
    return [*views, *(_records(stack, output) for output in sorted(stack.outputs) if _RECORDS.fullmatch(output))]


def find(stack: Stack, name: str, queue: str) -> QueueView:
    """Return the redrivable queue of this logical id. Raises QueueNotFound; CommandError if it is replayed."""
    views = {view.name: view for view in listed(stack, name) if view.is_for_failures}
    if queue not in views:
        raise QueueNotFound(f"no dead-letter queue {queue}; there are: {', '.join(views)}")
    if queue == REPORTS:
        raise CommandError(f"{REPORTS} is replayed in the order of its changes", see=command_of(REPORTS))
    return views[queue]


def command_of(name: str) -> tuple[Word, ...]:
    """Return the command that redrives the failures. name: a dead-letter queue's or a bucket's name."""
    return ("replay", ("--failed",)) if name == REPORTS else ("queues", "redrive", name)


def redrive(stack: Stack, queue: QueueView) -> Redriven:
    """Redrive the messages of a dead-letter queue. It may be interrupted, and run again."""
    if queue.holds_records:
        return _redrive_records(stack, queue.name)
    if queue.source:
        return _move(stack.client("sqs"), queue)
    return _invoke_again(stack, queue)


def _attributes(sqs: Any, url: str) -> Mapping[str, str]:
    found: Mapping[str, str] = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    return found


def _view(name: str, url: str, own: Mapping[str, str], sources: Mapping[str, str]) -> QueueView:
    waiting, in_flight = (int(own[f"ApproximateNumberOfMessages{kind}"]) for kind in ("", "NotVisible"))
    arn = own["QueueArn"]
    return QueueView(name, url, arn, waiting, in_flight, "RedrivePolicy" not in own, sources.get(arn, ""))


def _records(stack: Stack, output: str) -> QueueView:
    kept = _kept(stack, output)
    return QueueView(output, f"s3://{kept.bucket}/{KEPT}", "", sum(1 for _ in kept.names()), 0, is_for_failures=True)


def cause(stack: Stack, queue: QueueView) -> str:
    """Return why the first message or record failed, if it says so; the function's log has the rest."""
    if queue.holds_records:
        kept = _kept(stack, queue.name)
        return kept.cause(next(kept.names(), ""))
    received = stack.client("sqs").receive_message(
        QueueUrl=queue.url, MessageAttributeNames=["All"], VisibilityTimeout=0, WaitTimeSeconds=0
    )
    return next((_cause(message) for message in received.get("Messages", [])), "")


def _cause(message: Mapping[str, Any]) -> str:
    """Return the cause given by Lambda's destination or EventBridge's dead-letter queue; other queues give none."""
    named = message.get("MessageAttributes", {})
    told = [named[name]["StringValue"] for name in ("ERROR_CODE", "ERROR_MESSAGE") if name in named]
    try:
        document = json.loads(message["Body"])
        error = document["responsePayload"]
        told = told or [str(error["errorType"]), str(error["errorMessage"])]
    except (KeyError, TypeError, ValueError):
        pass
    return ": ".join(told) or "every attempt failed; the log of its function says why"


def _move(sqs: Any, queue: QueueView) -> Redriven:
    """Let SQS move the messages back to their source queues, where they get new ids.

    A message that somebody sent to the queue by hand has no source queue, and stays.
    """
    sqs.start_message_move_task(SourceArn=queue.arn)
    while (task := sqs.list_message_move_tasks(SourceArn=queue.arn, MaxResults=1)["Results"][0])["Status"] == "RUNNING":
        time.sleep(_POLL_SECONDS)
    if task["Status"] != "COMPLETED":
        raise CommandError(f"the move is {task['Status']}: {task.get('FailureReason', '')}")
    moved = task["ApproximateNumberOfMessagesMoved"]
    return Redriven(moved, _left(sqs, queue, queue.waiting - moved))


def _left(sqs: Any, queue: QueueView, unmoved: int) -> int:
    """Count the messages still in the queue. The count lags behind, so an unexpected one is read again.

    unmoved: the expected count, by the move.
    """
    left = 0
    for _ in range(_COUNTS):
        left = int(_attributes(sqs, queue.url)["ApproximateNumberOfMessages"])
        if left <= max(unmoved, 0):
            break
        time.sleep(_POLL_SECONDS)
    return left


def _invoke_again(stack: Stack, queue: QueueView) -> Redriven:
    """Invoke the functions asynchronously with the events in the messages; each event is retried again as usual."""
    sqs, again, seen, left = stack.client("sqs"), 0, 0, []
    while seen < queue.waiting:
        received = sqs.receive_message(
            QueueUrl=queue.url,
            MaxNumberOfMessages=min(_AT_ONCE, queue.waiting - seen),
            MessageAttributeNames=["All"],
            VisibilityTimeout=_VISIBILITY_SECONDS,
            WaitTimeSeconds=1,
        ).get("Messages", [])
        if not received:
            break
        seen += len(received)
        for message in received:
            event = _event(message)
            if event is None:
                left.append(message["ReceiptHandle"])
                continue
            function, payload = event
            stack.client("lambda").invoke(FunctionName=function, InvocationType="Event", Payload=json.dumps(payload))
            sqs.delete_message(QueueUrl=queue.url, ReceiptHandle=message["ReceiptHandle"])
            again += 1
    # At once, so that nobody takes the queue for empty. After a long redrive, SQS has done it already.
    for handle in left:
        with suppress(sqs.exceptions.MessageNotInflight):
            sqs.change_message_visibility(QueueUrl=queue.url, ReceiptHandle=handle, VisibilityTimeout=0)
    return Redriven(again, len(left))


def _event(message: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return the function and its event, as Lambda's destination or EventBridge's dead-letter queue has them."""
    try:
        document = json.loads(message["Body"])
        target = message.get("MessageAttributes", {}).get("TARGET_ARN")
        if target:
            return target["StringValue"], document
        # The function's ARN with its version or alias.
        return document["requestContext"]["functionArn"], document["requestPayload"]
    except (KeyError, TypeError, ValueError):
        return None


def _redrive_records(stack: Stack, output: str) -> Redriven:
    """Invoke the functions with the failed records, and move the objects of successful ones away."""
    kept, deliver, again, left = _kept(stack, output), deliverer(stack), 0, 0
    for key in list(kept.names()):
        # An object may hold all that was left of a batch, and one record must not hold back those behind it.
        done = [deliver(function, record) for function, record in kept.records(key)]
        if done and all(done):
            kept.move_away(key)
            again += 1
        else:
            left += 1
    return Redriven(again, left)


def _kept(stack: Stack, output: str) -> KeptRecords:
    return KeptRecords(stack.client("s3"), stack.outputs[output])
