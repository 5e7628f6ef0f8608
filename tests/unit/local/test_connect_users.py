"""The Amazon Connect simulator: users, their rules, and searches."""

import time
import unicodedata
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.kit.bounded import Threads
from tests.kit.connect_simulator import Connect, Document

PARAMETER, REQUEST = "InvalidParameterException", "InvalidRequestException"
DECOMPOSED = unicodedata.normalize("NFD", "ガ")
DESK = {"PhoneType": "DESK_PHONE"}


@pytest.fixture
def instance_id(connect: Connect) -> str:
    return connect.instance()


@pytest.fixture
def user(connect: Connect, instance_id: str) -> Document:
    return connect.user(instance_id)


def named(**names: str) -> Document:
    return {"IdentityInfo": {"FirstName": "太郎", "LastName": "山田", **names}}


def code(connect: Connect, user: Document) -> str:
    """The code of CreateUser's error."""
    with pytest.raises(ClientError) as caught:
        connect.client.create_user(**user)
    return str(caught.value.response["Error"]["Code"])


def search(connect: Connect, instance_id: str, value: str, comparison: str = "EXACT") -> list[Any]:
    condition = {"FieldName": "Username", "Value": value, "ComparisonType": comparison}
    found = connect.client.search_users(InstanceId=instance_id, SearchCriteria={"StringCondition": condition})
    return list(found["Users"])


# --- rules ---


@pytest.mark.parametrize(
    "right",
    [
        {"Username": "a"},
        {"Username": "a_b.c-d"},
        {"Username": "t@example.co.jp"},
        {"Username": "x" * 20},
        {"Password": "Aa345678"},
        {"Password": "Aa3" + "ü" * 61},
        named(FirstName="é" * 255),
        named(LastName="g" * 256),
        named(Email="taro@example.com"),
        named(Mobile="+819012345678"),
        {"PhoneConfig": {"PhoneType": "SOFT_PHONE", "AutoAccept": True}},
        {"PhoneConfig": {**DESK, "DeskPhoneNumber": "+81312345678"}},
    ],
    ids=repr,
)
def test_valid_user_is_created(connect: Connect, user: Document, right: Document) -> None:
    created = connect.client.create_user(**user | right)
    assert created["UserArn"].endswith(f"/agent/{created['UserId']}")


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"Username": "x" * 21}, PARAMETER),
        ({"Username": "x" * 101}, PARAMETER),
        ({"Username": "taro yamada"}, PARAMETER),
        ({"Username": "太郎"}, PARAMETER),
        ({"Username": "taro\n"}, PARAMETER),
        ({"Username": "taro@example"}, PARAMETER),
        ({"Username": "a@b@c.jp"}, PARAMETER),
        ({"Password": "Aa34567"}, PARAMETER),
        ({"Password": "aa345678"}, PARAMETER),
        ({"Password": "AA345678"}, PARAMETER),
        ({"Password": "Aabcdefg"}, PARAMETER),
        ({"Password": "Aa34 5678"}, PARAMETER),
        ({"Password": "Aa3" + "x" * 62}, PARAMETER),
        (named(FirstName=""), REQUEST),
        (named(LastName=""), REQUEST),
        (named(FirstName=DECOMPOSED), PARAMETER),
        (named(LastName=DECOMPOSED), PARAMETER),
        (named(FirstName="x" * 256), PARAMETER),
        (named(LastName="x" * 257), PARAMETER),
        (named(Email="taro"), PARAMETER),
        (named(SecondaryEmail="taro@example"), PARAMETER),
        (named(Mobile="09012345678"), PARAMETER),
        ({"PhoneConfig": DESK}, REQUEST),
        ({"PhoneConfig": {**DESK, "DeskPhoneNumber": "03-1234-5678"}}, PARAMETER),
        ({"PhoneConfig": {**DESK, "DeskPhoneNumber": "tel:+81312345678"}}, PARAMETER),
        ({"PhoneConfig": {**DESK, "DeskPhoneNumber": "+1234567890123456"}}, PARAMETER),
        ({"PhoneConfig": {"PhoneType": "TELEPATHY"}}, PARAMETER),
        ({"PhoneConfig": {"AfterContactWorkTimeLimit": 2_000_001}}, PARAMETER),
        ({"SecurityProfileIds": [f"p-{number}" for number in range(11)]}, PARAMETER),
        ({"SecurityProfileIds": ["no-profile"]}, "ResourceNotFoundException"),
        ({"RoutingProfileId": "no-profile"}, "ResourceNotFoundException"),
        ({"InstanceId": "no-instance"}, "ResourceNotFoundException"),
        ({"Tags": {"aws:mine": "1"}}, PARAMETER),
    ],
    ids=repr,
)
def test_user_that_breaks_a_rule_is_rejected(connect: Connect, user: Document, wrong: Document, error: str) -> None:
    assert code(connect, user | wrong) == error
    assert connect.client.list_users(InstanceId=user["InstanceId"])["UserSummaryList"] == []


def test_password_is_required_and_in_no_message(connect: Connect, user: Document) -> None:
    assert code(connect, {name: value for name, value in user.items() if name != "Password"}) == REQUEST
    with pytest.raises(connect.client.exceptions.InvalidParameterException) as caught:
        connect.client.create_user(**user | {"Password": "too-weak"})
    assert "too-weak" not in str(caught.value)


def test_external_directory_takes_no_password_and_allows_longer_usernames(connect: Connect) -> None:
    user = connect.user(connect.instance(IdentityManagementType="SAML"), Username="x" * 64)
    assert code(connect, user) == REQUEST
    del user["Password"]
    connect.client.create_user(**user)
    assert code(connect, user | {"Username": "b", "DirectoryUserId": "d"}) == REQUEST
    assert code(connect, user | {"Username": "b"} | named(Email="b@example.com")) == REQUEST


# --- duplicates, quotas ---


def test_username_is_taken_until_its_user_is_deleted(connect: Connect, user: Document) -> None:
    created = connect.client.create_user(**user)
    assert code(connect, user) == "DuplicateResourceException"
    connect.client.delete_user(InstanceId=user["InstanceId"], UserId=created["UserId"])
    assert connect.client.create_user(**user)["UserId"] != created["UserId"]


def test_concurrent_creations_of_one_user_create_one(
    connect: Connect, user: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow_clock() -> float:
        """Lets other threads run between any two steps."""
        time.sleep(0.005)
        return connect.clock()

    monkeypatch.setattr(connect.server.simulator.state.account, "now", slow_clock)

    def create(_: int) -> str:
        try:
            connect.client.create_user(**user)
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return "created"

    with Threads(8) as callers:
        outcomes = sorted(callers.map(create, range(16)))
    assert outcomes == ["DuplicateResourceException"] * 15 + ["created"]


def test_instance_has_a_user_quota(connect: Connect, user: Document) -> None:
    connect.control.change(users_per_instance=2)
    for username in ("a", "b"):
        connect.client.create_user(**user | {"Username": username})
    with pytest.raises(connect.client.exceptions.LimitExceededException) as caught:
        connect.client.create_user(**user | {"Username": "c"})
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 429


# --- lookups of a user ---


def test_search_by_username_finds_the_user_with_tags(connect: Connect, user: Document) -> None:
    for number in range(12):
        connect.client.create_user(**user | {"Username": f"user-{number}", "Tags": {"row": str(number)}})
    [found] = search(connect, user["InstanceId"], "user-1")
    assert (found["Username"], found["Tags"]) == ("user-1", {"row": "1"})
    assert {one["Username"] for one in search(connect, user["InstanceId"], "user-1", "STARTS_WITH")} == {
        *("user-1", "user-10", "user-11")
    }
    assert search(connect, user["InstanceId"], "USER-1") == []


def test_search_counts_after_contact_work_in_milliseconds(connect: Connect, user: Document) -> None:
    connect.client.create_user(**user, PhoneConfig={"PhoneType": "SOFT_PHONE", "AfterContactWorkTimeLimit": 60})
    [found] = search(connect, user["InstanceId"], user["Username"])
    assert found["PhoneConfig"] == {"PhoneType": "SOFT_PHONE", "AfterContactWorkTimeLimit": 60_000}


def test_unsupported_search_is_rejected(connect: Connect, instance_id: str) -> None:
    with pytest.raises(ClientError, match="does not support SearchUsers with a SearchFilter"):
        connect.client.search_users(InstanceId=instance_id, SearchFilter={"TagFilter": {}})
    criteria = {"StringCondition": {"FieldName": "Shoe", "Value": "9"}}
    with pytest.raises(connect.client.exceptions.InvalidParameterException):
        connect.client.search_users(InstanceId=instance_id, SearchCriteria=criteria)


def test_search_may_lag_behind(connect: Connect, user: Document) -> None:
    connect.control.change(search_lag_seconds=3)
    connect.client.create_user(**user)
    assert search(connect, user["InstanceId"], user["Username"]) == []
    connect.clock.advance(3)
    assert len(search(connect, user["InstanceId"], user["Username"])) == 1
