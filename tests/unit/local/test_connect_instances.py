"""Amazon Connect's simulator: the life of an instance, lists, quotas, tags."""

import pytest
from botocore.exceptions import ClientError

from tests.kit.connect_simulator import Connect, new_instance


def status(connect: Connect, instance_id: str) -> str:
    return str(connect.client.describe_instance(InstanceId=instance_id)["Instance"]["InstanceStatus"])


def profiles(connect: Connect, instance_id: str) -> list[set[str]]:
    """The names of the security profiles, and of the routing profiles."""
    security = connect.client.list_security_profiles(InstanceId=instance_id)["SecurityProfileSummaryList"]
    routing = connect.client.list_routing_profiles(InstanceId=instance_id)["RoutingProfileSummaryList"]
    return [{profile["Name"] for profile in found} for found in (security, routing)]


# --- from creation to deletion ---


def test_inactive_instance_has_no_profiles_and_no_users(connect: Connect) -> None:
    instance_id = connect.create_instance()
    missing = connect.client.exceptions.ResourceNotFoundException
    for operation in ("list_security_profiles", "list_routing_profiles", "list_users", "search_users"):
        with pytest.raises(missing, match="not active"):
            getattr(connect.client, operation)(InstanceId=instance_id)


def test_failed_creation_is_listed_as_failed_for_a_day(connect: Connect) -> None:
    connect.control.fail_creation()
    instance_id = connect.create_instance()
    assert status(connect, instance_id) == "CREATION_IN_PROGRESS"
    connect.clock.advance(5)
    failed = connect.client.describe_instance(InstanceId=instance_id)["Instance"]
    assert failed["InstanceStatus"] == "CREATION_FAILED"
    assert failed["StatusReason"]["Message"]
    connect.clock.advance(24 * 3600)
    assert connect.client.list_instances()["InstanceSummaryList"] == []


def test_deleted_instance_disappears_later_and_frees_its_quota_and_alias(connect: Connect) -> None:
    connect.control.change(instances=1)
    instance_id = connect.instance()
    connect.client.delete_instance(InstanceId=instance_id)
    with pytest.raises(connect.client.exceptions.InvalidRequestException, match="alias is already used"):
        connect.create_instance()
    connect.clock.advance(1.1)
    with pytest.raises(connect.client.exceptions.ResourceNotFoundException):
        connect.client.describe_instance(InstanceId=instance_id)
    connect.create_instance()


def test_instance_being_created_cannot_be_deleted(connect: Connect) -> None:
    instance_id = connect.create_instance()
    with pytest.raises(connect.client.exceptions.InvalidRequestException):
        connect.client.delete_instance(InstanceId=instance_id)


# --- repetitions ---


def test_client_token_is_bound_to_its_parameters(connect: Connect) -> None:
    connect.create_instance(ClientToken="token-1")
    with pytest.raises(connect.client.exceptions.InvalidRequestException, match="ClientToken"):
        connect.create_instance(ClientToken="token-1", InstanceAlias="other")


def test_refused_creation_leaves_its_token_unused(connect: Connect) -> None:
    connect.control.change(instances=0)
    with pytest.raises(connect.client.exceptions.ServiceQuotaExceededException):
        connect.create_instance(ClientToken="token-1")
    connect.control.change(instances=1)
    connect.create_instance(ClientToken="token-1")


@pytest.mark.parametrize(
    "wrong",
    [
        {"InstanceAlias": "d-stepwise"},
        {"IdentityManagementType": "EXISTING_DIRECTORY"},
        {"IdentityManagementType": "X"},
    ],
    ids=["alias", "directory", "type"],
)
def test_invalid_instance_is_rejected(connect: Connect, wrong: dict[str, str]) -> None:
    with pytest.raises(connect.client.exceptions.InvalidRequestException):
        connect.create_instance(**wrong)


# --- quotas ---


def test_failed_instance_does_not_count_towards_the_quota(connect: Connect) -> None:
    connect.control.change(instances=1)
    connect.control.fail_creation()
    connect.create_instance(InstanceAlias="one")
    connect.create_instance(InstanceAlias="two")


def test_creations_and_deletions_of_thirty_days_are_counted_together(connect: Connect) -> None:
    connect.control.change(instance_changes=3)
    first = connect.instance(InstanceAlias="one")
    connect.client.delete_instance(InstanceId=first)
    second = connect.instance(InstanceAlias="two")
    with pytest.raises(connect.client.exceptions.ServiceQuotaExceededException, match="excessive number"):
        connect.create_instance(InstanceAlias="three")
    with pytest.raises(connect.client.exceptions.InvalidRequestException, match="excessive number"):
        connect.client.delete_instance(InstanceId=second)
    connect.clock.advance(30 * 24 * 3600)
    connect.create_instance(InstanceAlias="three")


# --- lists ---


def test_list_changing_between_pages_is_neither_cut_nor_doubled(connect: Connect) -> None:
    connect.control.change(instances=4)
    made = [connect.instance(InstanceAlias=f"number-{number}") for number in range(4)]
    first = connect.client.list_instances(MaxResults=2)
    connect.client.delete_instance(InstanceId=made[0])
    connect.clock.advance(2)
    second = connect.client.list_instances(MaxResults=2, NextToken=first["NextToken"])
    assert [one["Id"] for one in second["InstanceSummaryList"]] == made[2:]
    assert "NextToken" not in second


@pytest.mark.parametrize("wrong", [{"MaxResults": 11}, {"NextToken": "a token of somebody else"}])
def test_invalid_pages_are_rejected(connect: Connect, wrong: dict[str, object]) -> None:
    with pytest.raises(connect.client.exceptions.InvalidRequestException):
        connect.client.list_instances(**wrong)


# --- tags ---


def test_instance_tags_are_described_changed_and_listed(connect: Connect) -> None:
    instance_id = connect.create_instance(Tags={"stepwise": "stack-1"})
    arn = connect.client.describe_instance(InstanceId=instance_id)["Instance"]["Arn"]
    connect.client.tag_resource(resourceArn=arn, tags={"owner": "チーム"})
    assert connect.client.list_tags_for_resource(resourceArn=arn)["tags"] == {"stepwise": "stack-1", "owner": "チーム"}
    connect.client.untag_resource(resourceArn=arn, tagKeys=["stepwise"])
    assert connect.client.describe_instance(InstanceId=instance_id)["Instance"]["Tags"] == {"owner": "チーム"}


@pytest.mark.parametrize("tags", [{"aws:mine": "1"}, {"a#b": "1"}, {f"key-{number}": "1" for number in range(51)}])
def test_invalid_tags_are_rejected(connect: Connect, tags: dict[str, str]) -> None:
    instance_id = connect.create_instance()
    arn = connect.client.describe_instance(InstanceId=instance_id)["Instance"]["Arn"]
    with pytest.raises(connect.client.exceptions.InvalidParameterException):
        connect.client.tag_resource(resourceArn=arn, tags=tags)


def test_resource_has_at_most_fifty_tags(connect: Connect) -> None:
    arn = connect.client.create_instance(**new_instance(Tags={f"a{number}": "1" for number in range(30)}))["Arn"]
    with pytest.raises(connect.client.exceptions.InvalidParameterException, match="50"):
        connect.client.tag_resource(resourceArn=arn, tags={f"b{number}": "1" for number in range(21)})
    assert len(connect.client.list_tags_for_resource(resourceArn=arn)["tags"]) == 30


def test_unsupported_operation_is_named(connect: Connect) -> None:
    with pytest.raises(ClientError, match="does not support ListQueues"):
        connect.client.list_queues(InstanceId="i-1")
