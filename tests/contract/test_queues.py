"""Queues: no message is lost or redelivered forever, and each queue accepts the messages of its topic."""

import math
from typing import Any

from tests.kit.alarms import watched
from tests.kit.deployed_stack import Stack
from tests.kit.each import each
from tests.kit.template import FUNCTIONS, TEMPLATE, arn_of, of_type

HOUR = 3600
DAY = 24 * HOUR
QUEUES = of_type("AWS::SQS::Queue")
SOURCES = [name for name, body in QUEUES.items() if "RedrivePolicy" in body]
DEAD_LETTERS = {str(arn_of(QUEUES[name]["RedrivePolicy"]["deadLetterTargetArn"])): name for name in SOURCES}
ACTIONS = {
    "TaskActionQueue": "task-action",
    "ImportActionQueue": "import-action",
    "NotificationQueue": "notification",
}
MAPPINGS: list[tuple[str, dict[str, Any]]] = [
    (name, event["Properties"])
    for name, function in FUNCTIONS.items()
    for event in function.properties.get("Events", {}).values()
    if event["Type"] == "SQS"
]

every_source = each("queue", SOURCES)
every_mapping = each(("function", "mapping"), MAPPINGS, ids=[name for name, _ in MAPPINGS])


def policies(queue: str) -> list[Any]:
    """The statements of a queue's policy."""
    (body,) = (body for body in of_type("AWS::SQS::QueuePolicy").values() if body["Queues"] == [{"Ref": queue}])
    statements: list[Any] = body["PolicyDocument"]["Statement"]
    return statements


def test_each_queue_gets_the_raw_messages_of_its_action() -> None:
    subscriptions = of_type("AWS::SNS::Subscription").values()
    found = {str(arn_of(body["Endpoint"])): body for body in subscriptions if body["Protocol"] == "sqs"}

    assert {queue: body["FilterPolicy"] for queue, body in found.items()} == {
        queue: {"action": [action]} for queue, action in ACTIONS.items()
    }
    assert all(body["RawMessageDelivery"] is True for body in found.values())
    assert {arn_of(body["TopicArn"]) for body in found.values()} == {"NotificationTopic"}


@every_source
def test_only_the_topic_may_send_to_a_queue_from_outside(queue: str) -> None:
    allowed = [one for one in policies(queue) if one["Effect"] == "Allow"]

    assert allowed == [
        {
            "Effect": "Allow",
            "Principal": {"Service": "sns.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": {"Fn::GetAtt": [queue, "Arn"]},
            "Condition": {"ArnEquals": {"aws:SourceArn": {"Ref": "NotificationTopic"}}},
        }
    ]


@each("queue", [*SOURCES, *DEAD_LETTERS])
def test_queue_behind_the_topic_requires_tls(queue: str) -> None:
    (denied,) = (one for one in policies(queue) if one["Effect"] == "Deny")

    assert (denied["Principal"], denied["Action"]) == ("*", "sqs:*")
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert arn_of(denied["Resource"]) == queue


@every_source
def test_message_gets_five_tries_after_an_hour_of_throttling(queue: str) -> None:
    """Lambda retries a throttled invocation until the visibility timeout; then SQS counts another receive.

    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
    """
    redrive = QUEUES[queue]["RedrivePolicy"]
    dead = arn_of(redrive["deadLetterTargetArn"])
    throttled = math.ceil(HOUR / QUEUES[queue]["VisibilityTimeout"])

    assert redrive["maxReceiveCount"] == throttled + 5
    assert dead == f"{queue.removesuffix('Queue')}FailuresQueue"
    # A message keeps its age when it moves.
    assert (
        QUEUES[str(dead)]["MessageRetentionPeriod"] == 14 * DAY > QUEUES[queue].get("MessageRetentionPeriod", 4 * DAY)
    )


@every_source
def test_unread_queue_raises_an_alarm(queue: str) -> None:
    assert watched("ApproximateAgeOfOldestMessage", queue)


def test_undeliverable_topic_messages_raise_an_alarm() -> None:
    assert watched("NumberOfNotificationsFailed", "NotificationTopic")


@every_mapping
def test_message_is_handled_alone_and_not_while_it_may_still_run(function: str, mapping: dict[str, Any]) -> None:
    queue = str(arn_of(mapping["Queue"]))

    assert mapping["BatchSize"] == 1
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert QUEUES[queue]["VisibilityTimeout"] > 6 * FUNCTIONS[function].timeout


@every_mapping
def test_queue_cannot_use_up_the_concurrency_of_the_account(function: str, mapping: dict[str, Any]) -> None:
    """Without MaximumConcurrency (2 to 1,000), a mapping runs up to 1,000 invocations at once."""
    assert 2 <= mapping["ScalingConfig"]["MaximumConcurrency"] <= 10


@every_mapping
def test_queue_has_one_reader(function: str, mapping: dict[str, Any]) -> None:
    assert [name for name, other in MAPPINGS if other["Queue"] == mapping["Queue"]] == [function]


@each("queue", ["TaskActionQueue", "ImportActionQueue"])
def test_contract_queue_url_is_an_output(queue: str) -> None:
    assert TEMPLATE["Outputs"][f"{queue}Url"]["Value"] == {"Ref": queue}


def test_contract_topic_is_an_output() -> None:
    assert Stack().resolve(TEMPLATE["Outputs"]["NotificationTopicArn"]["Value"]).endswith(":NotificationTopic")
