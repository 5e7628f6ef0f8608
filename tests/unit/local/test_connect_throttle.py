"""Amazon Connect's simulator: two requests a second and a burst of five, for each operation, across all callers."""

import time

import pytest
from botocore.exceptions import ClientError

from stepwise.local.simulators.connect.settings import Settings
from stepwise.local.simulators.connect.simulator import Throttle
from tests.kit.bounded import Threads
from tests.kit.connect_simulator import Clock, Connect, client

DEFAULT = Settings()


@pytest.fixture(autouse=True)
def throttled(connect: Connect) -> None:
    connect.control.change(requests_per_second=2, burst=5)


def admitted(connect: Connect, calls: int) -> int:
    """The number of calls of ListInstances that are not throttled."""
    outcomes = []
    for _ in range(calls):
        try:
            connect.client.list_instances()
            outcomes.append(True)
        except connect.client.exceptions.ThrottlingException:
            outcomes.append(False)
    return sum(outcomes)


def test_burst_of_five_is_admitted_and_then_two_a_second(connect: Connect) -> None:
    assert admitted(connect, 9) == 5
    connect.clock.advance(0.5)
    assert admitted(connect, 3) == 1
    connect.clock.advance(1)
    assert admitted(connect, 3) == 2
    connect.clock.advance(60)
    assert admitted(connect, 9) == 5


def test_throttled_request_consumes_no_token(connect: Connect) -> None:
    admitted(connect, 5)
    for _ in range(4):
        connect.clock.advance(0.125)
        admitted(connect, 1)
    assert [entry["throttled"] for entry in connect.control.requests()] == [False] * 5 + [True] * 3 + [False]


def test_each_operation_has_its_own_token_bucket(connect: Connect) -> None:
    admitted(connect, 6)
    with pytest.raises(connect.client.exceptions.ResourceNotFoundException):
        connect.client.list_users(InstanceId="no-instance")


def test_refused_request_consumes_a_token(connect: Connect) -> None:
    codes = []
    for _ in range(6):
        with pytest.raises(ClientError) as caught:
            connect.client.list_users(InstanceId="no-instance")
        codes.append(caught.value.response["Error"]["Code"])
    assert codes == ["ResourceNotFoundException"] * 5 + ["ThrottlingException"]


def test_callers_share_the_bucket(connect: Connect) -> None:
    def call(_: int) -> bool:
        caller = client(connect.server.address)
        try:
            caller.list_instances()
        except ClientError:
            return False
        return True

    with Threads(4) as callers:
        assert sum(callers.map(call, range(12))) == 5


def test_rate_can_be_changed_at_run_time(connect: Connect) -> None:
    admitted(connect, 5)
    connect.control.change(requests_per_second=16)
    connect.clock.advance(0.125)
    assert admitted(connect, 4) == 2


def test_on_a_real_clock_many_threads_keep_to_the_rate() -> None:
    throttle, settings = Throttle(time.monotonic), Settings(requests_per_second=100, burst=50)
    began = time.monotonic()

    def call(_: int) -> None:
        count = 0
        while count < 25:
            count += throttle.admits("CreateUser", settings)
            time.sleep(0.001)

    with Threads(4) as callers:
        list(callers.map(call, range(4)))
    assert 50 + 100 * (time.monotonic() - began) >= 100


def test_stopped_clock_adds_no_tokens() -> None:
    throttle = Throttle(Clock())
    assert [throttle.admits("CreateUser", DEFAULT) for _ in range(7)] == [True] * 5 + [False] * 2
