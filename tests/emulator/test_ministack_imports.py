"""Features for imports that MiniStack lacks and the local engine's patches add: each is still missing upstream."""

import json
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.kit.ministack import Account, still_there

pytestmark = pytest.mark.local_only("are about the local stack itself")

DEFINITION = {
    "StartAt": "Each",
    "States": {
        "Each": {
            "Type": "Map",
            "ItemProcessor": {
                "StartAt": "Double",
                "States": {
                    "Double": {"Type": "Pass", "Parameters": {"twice.$": "States.MathAdd($, $)"}, "Next": "Done"},
                    "Done": {"Type": "Succeed"},
                },
            },
            "End": True,
        }
    },
}


def history(account: Account, items: list[int]) -> tuple[Any, list[Any]]:
    """The output of a Map over the items, and its events."""
    states, name = account.client("stepfunctions"), f"m-{uuid.uuid4().hex[:12]}"
    machine = states.create_state_machine(name=name, definition=json.dumps(DEFINITION), roleArn=account.role(name))
    arn = machine["stateMachineArn"]
    ended = account.ended(states.start_execution(stateMachineArn=arn, input=json.dumps(items))["executionArn"])
    started = ended["executionArn"]
    events = states.get_execution_history(executionArn=started, maxResults=1000)["events"]
    return json.loads(ended["output"]), events


def bucket(account: Account) -> str:
    """A new bucket with versions."""
    s3, name = account.client("s3"), f"b-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=name)
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return name


def event_of_an_upload(account: Account) -> tuple[str, Any]:
    """The version of a new object, and the event that EventBridge delivers for it."""
    s3, sqs, events, name = account.client("s3"), account.client("sqs"), account.client("events"), bucket(account)
    s3.put_bucket_notification_configuration(Bucket=name, NotificationConfiguration={"EventBridgeConfiguration": {}})
    queue = sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    allow = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": arn}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": policy})
    events.put_rule(Name=name, EventPattern=json.dumps({"source": ["aws.s3"], "detail": {"bucket": {"name": [name]}}}))
    events.put_targets(Rule=name, Targets=[{"Id": "queue", "Arn": arn}])
    version = s3.put_object(Bucket=name, Key="a", Body=b"0123456789")["VersionId"]
    (message,) = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=5)["Messages"]
    return version, json.loads(message["Body"])


def part(account: Account, wanted: str) -> bytes:
    """A range of bytes of an old version."""
    s3, name = account.client("s3"), bucket(account)
    version = s3.put_object(Bucket=name, Key="a", Body=b"0123456789")["VersionId"]
    s3.put_object(Bucket=name, Key="a", Body=b"another")
    answer = s3.get_object(Bucket=name, Key="a", VersionId=version, Range=wanted)
    return bytes(answer["Body"].read())


def test_ministack_still_omits_events_inside_a_map_from_the_history(upstream: Account) -> None:
    _, events = history(upstream, [1, 2])

    assert "MapIterationStarted" not in [event["type"] for event in events], still_there(
        "executions", "the iterations of a Map"
    )


def test_history_includes_everything_inside_a_map(ours: Account) -> None:
    output, events = history(ours, [1, 2, 3])
    types = [event["type"] for event in events]
    (started,) = [event for event in events if event["type"] == "MapStateStarted"]
    entered = [event["stateEnteredEventDetails"] for event in events if event["type"] == "PassStateEntered"]

    assert output == [{"twice": 2}, {"twice": 4}, {"twice": 6}]
    assert started["mapStateStartedEventDetails"]["length"] == 3
    assert types.count("MapIterationStarted") == types.count("MapIterationSucceeded") == 3
    assert types.count("SucceedStateExited") == 3
    assert sorted(one["input"] for one in entered) == ["1", "2", "3"]


def test_ministack_still_omits_the_version_from_its_events(upstream: Account) -> None:
    _, event = event_of_an_upload(upstream)

    assert "version-id" not in event["detail"]["object"], still_there("buckets", "the version of an uploaded object")


def test_event_has_the_object_version(ours: Account) -> None:
    version, event = event_of_an_upload(ours)

    assert event["detail"]["object"]["version-id"] == version


def test_ministack_still_ignores_the_range_of_a_version(upstream: Account) -> None:
    assert part(upstream, "bytes=2-4") == b"0123456789", still_there("buckets", "a range of an object")


@pytest.mark.parametrize(("wanted", "found"), [("bytes=2-4", b"234"), ("bytes=8-99", b"89"), ("bytes=0-0", b"0")])
def test_range_request_of_a_version_returns_that_range(ours: Account, wanted: str, found: bytes) -> None:
    assert part(ours, wanted) == found


def test_range_past_the_end_of_a_version_is_rejected(ours: Account) -> None:
    with pytest.raises(ClientError, match="InvalidRange"):
        part(ours, "bytes=10-12")


def seen(account: Account, *, exempt: bool) -> str:
    """The text that a role reads, or the error code, if a bucket policy exempts one role. exempt: use that role."""
    s3, name = account.client("s3"), bucket(account)
    roles = {which: account.role(f"{name}-{which}", may="s3:GetObject") for which in (True, False)}
    deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:GetObject", "NotResource": f"arn:aws:s3:::{name}/b"}
    condition = {"ArnNotEquals": {"aws:PrincipalArn": [roles[True]]}}
    s3.put_bucket_policy(
        Bucket=name, Policy=json.dumps({"Version": "2012-10-17", "Statement": [deny | {"Condition": condition}]})
    )
    s3.put_object(Bucket=name, Key="a", Body=b"secret")
    try:
        return str(account.assumed(roles[exempt], "s3").get_object(Bucket=name, Key="a")["Body"].read().decode())
    except ClientError as error:
        return str(error.response["Error"]["Code"])


def test_ministack_still_matches_a_role_session_by_its_own_arn(upstream: Account) -> None:
    assert seen(upstream, exempt=True) == "AccessDenied", still_there("buckets", "aws:PrincipalArn of a role's session")


@pytest.mark.parametrize(("exempt", "found"), [(True, "secret"), (False, "AccessDenied")])
def test_bucket_policy_exempts_a_role_by_its_arn(ours: Account, exempt: bool, found: str) -> None:
    assert seen(ours, exempt=exempt) == found
