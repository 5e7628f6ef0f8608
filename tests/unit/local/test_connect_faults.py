"""The Amazon Connect simulator: its control paths, and injected faults."""

import time

import msgspec
import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from stepwise.local.simulators.connect.settings import Settings, from_environment
from tests.kit.bounded import Threads
from tests.kit.connect_simulator import Connect, Document


@pytest.fixture
def user(connect: Connect) -> Document:
    return connect.user(connect.instance())


def outcomes(connect: Connect, calls: int) -> list[str]:
    """The error codes of some calls of ListInstances; empty for a success."""
    found = []
    for _ in range(calls):
        try:
            connect.client.list_instances()
            found.append("")
        except ClientError as error:
            found.append(error.response["Error"]["Code"])
    return found


# --- faults ---


def test_next_calls_of_an_operation_fail(connect: Connect, user: Document) -> None:
    connect.control.fail("CreateUser", "InternalServiceException", times=2)
    for _ in range(2):
        with pytest.raises(connect.client.exceptions.InternalServiceException) as caught:
            connect.client.create_user(**user)
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
    connect.client.create_user(**user)
    assert connect.control.faults() == []


def test_call_that_fails_on_request_does_nothing(connect: Connect, user: Document) -> None:
    connect.control.fail("CreateUser", "InternalServiceException")
    with pytest.raises(ClientError):
        connect.client.create_user(**user)
    assert connect.control.instances()[0]["users"] == []


def test_faults_can_skip_calls_and_queue_up(connect: Connect) -> None:
    connect.control.fail("ListInstances", "InternalServiceException", skip=1)
    connect.control.fail("*", "AccessDeniedException", message="no")
    assert outcomes(connect, 4) == ["AccessDeniedException", "InternalServiceException", "", ""]


def test_fault_can_be_limited_to_certain_parameters(connect: Connect, user: Document) -> None:
    connect.control.fail("CreateUser", "InvalidRequestException", where={"Username": "b"})
    connect.client.create_user(**user | {"Username": "a"})
    with pytest.raises(connect.client.exceptions.InvalidRequestException):
        connect.client.create_user(**user | {"Username": "b"})
    connect.client.create_user(**user | {"Username": "c"})


def test_search_fault_can_be_limited_to_the_searched_name(connect: Connect, user: Document) -> None:
    def search(name: str) -> None:
        criteria = {"FieldName": "Username", "Value": name, "ComparisonType": "EXACT"}
        connect.client.search_users(InstanceId=user["InstanceId"], SearchCriteria={"StringCondition": criteria})

    connect.control.fail("SearchUsers", "InvalidRequestException", where={"Username": "b"})
    search("a")
    with pytest.raises(connect.client.exceptions.InvalidRequestException):
        search("b")


def test_unknown_error_code_needs_a_status(connect: Connect) -> None:
    with pytest.raises(ValueError, match="give its status"):
        connect.control.fail("ListInstances", "ServiceUnavailable")
    connect.control.fail("ListInstances", "ServiceUnavailable", status=503)
    assert outcomes(connect, 2) == ["ServiceUnavailable", ""]


def test_lost_answer_is_lost_after_the_effect(connect: Connect, user: Document) -> None:
    connect.control.lose_answer("CreateUser")
    with pytest.raises(ConnectionClosedError):
        connect.client.create_user(**user)
    assert connect.control.instances()[0]["users"] == [user["Username"]]
    with pytest.raises(connect.client.exceptions.DuplicateResourceException):
        connect.client.create_user(**user)


def test_delayed_call_does_not_block_others(connect: Connect) -> None:
    connect.control.delay("ListInstances", 3)
    with Threads(1) as others:
        began = time.monotonic()
        slow = others.submit(connect.client.list_instances)
        while not connect.control.requests():
            time.sleep(0.01)
        assert connect.control.requests()[0]["status"] is None
        assert outcomes(connect, 1) == [""]
        assert connect.control.requests()[0]["status"] is None
        slow.result()
    assert time.monotonic() - began >= 3


def test_delay_may_end_in_an_error(connect: Connect) -> None:
    connect.control.fault("ListInstances", delay_seconds=0.2, code="ThrottlingException")
    began = time.monotonic()
    assert outcomes(connect, 1) == ["ThrottlingException"]
    assert time.monotonic() - began >= 0.2


def test_faults_affect_only_calls_admitted_by_the_throttle(connect: Connect) -> None:
    connect.control.change(requests_per_second=1, burst=1)
    connect.control.fail("ListInstances", "InternalServiceException", skip=1)
    assert outcomes(connect, 2) == ["", "ThrottlingException"]
    assert len(connect.control.faults()) == 1
    connect.clock.advance(1)
    assert outcomes(connect, 1) == ["InternalServiceException"]


def test_faults_can_be_removed(connect: Connect) -> None:
    connect.control.fail("ListInstances", "InternalServiceException", times=9)
    outcomes(connect, 2)
    assert [fault["times"] for fault in connect.control.faults()] == [7]
    connect.control.clear_faults()
    assert outcomes(connect, 1) == [""]


@pytest.mark.parametrize(
    "fault",
    [{"operation": "CreateUsers"}, {"operation": "CreateUser", "times": 0}, {"operation": "CreateUser", "tims": 2}],
    ids=repr,
)
def test_invalid_fault_is_rejected(connect: Connect, fault: Document) -> None:
    with pytest.raises(ValueError, match=r"CreateUsers|times|tims"):
        connect.control.fault(**fault)


# --- received requests ---


def test_every_request_is_recorded(connect: Connect, user: Document) -> None:
    connect.control.clear_requests()
    connect.client.create_user(**user)
    connect.control.lose_answer("ListInstances")
    with pytest.raises(ConnectionClosedError):
        connect.client.list_instances()
    created, listed = connect.control.requests()
    assert abs(created.pop("at") - time.time()) < 60
    assert created.pop("seconds") < 10
    assert created == {
        "operation": "CreateUser",
        "instance_id": user["InstanceId"],
        "username": user["Username"],
        "throttled": False,
        "fault": None,
        "status": 200,
        "code": None,
    }
    assert (listed["fault"], listed["status"]) == ("lose answer", None)
    assert [entry["operation"] for entry in connect.control.requests("CreateUser")] == ["CreateUser"]


def test_no_password_is_recorded(connect: Connect, user: Document) -> None:
    connect.client.create_user(**user)
    assert user["Password"] not in str(connect.control.requests()) + str(connect.control.instances())


def test_reset_forgets_everything_and_restores_the_initial_settings(connect: Connect, user: Document) -> None:
    connect.client.create_user(**user)
    connect.control.change(users_per_instance=1)
    connect.control.fail("CreateUser", "InternalServiceException")
    connect.control.reset()
    assert connect.control.settings()["users_per_instance"] == 500
    assert (connect.control.instances(), connect.control.faults(), connect.control.requests()) == ([], [], [])


def test_reset_does_not_let_a_request_in_flight_through(connect: Connect) -> None:
    connect.control.delay("CreateInstance", 2)
    with Threads(1) as others:
        others.submit(connect.create_instance)
        while not connect.control.requests():
            time.sleep(0.01)
        connect.control.reset()
    assert connect.control.instances() == []


# --- settings ---


def test_settings_come_from_the_environment() -> None:
    variables = {"CONNECT_SIMULATOR_BURST": "9", "CONNECT_SIMULATOR_ACTIVATION_SECONDS": "0.5", "HOME": "/"}
    assert from_environment(variables) == Settings(burst=9, activation_seconds=0.5)


@pytest.mark.parametrize("name", ["CONNECT_SIMULATOR_BURST", "CONNECT_SIMULATOR_BRUST"])
def test_invalid_settings_are_rejected(name: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        from_environment({name: "zero"})


@pytest.mark.parametrize("change", [{"burst": 0}, {"activation_seconds": -1}, {"brust": 5}], ids=repr)
def test_invalid_changes_are_rejected(connect: Connect, change: dict[str, float]) -> None:
    before = connect.control.settings()
    with pytest.raises(ValueError, match=next(iter(change))):
        connect.control.change(**change)
    assert connect.control.settings() == before
