"""Calls to Amazon Connect, against its simulator: paging, backoff, and every error by its code."""

import dataclasses
import hashlib
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import pytest
from botocore.exceptions import ClientError

from tests.kit.connect_simulator import Connect as Simulator
from tests.kit.connect_simulator import client
from user_import.connect import Backoff, Connect, forget_messages
from user_import.errors import (
    ConnectDenied,
    ConnectRefused,
    ConnectThrottled,
    ConnectUnavailable,
    InstanceAliasInUse,
    InstanceAliasInvalid,
    InstanceCreationFailed,
    InstanceNotFound,
    InstanceNotReady,
    InstanceQuotaExceeded,
    InvalidImport,
    TooManyProfiles,
    UserExists,
    UserQuotaExceeded,
)
from user_import.instances import STACK_TAG, AllowedInstances, Instances, default_alias
from user_import.user import ProfileIds, ProfileNames, User
from user_import.user import used_profiles as used

DEFAULTS = ProfileNames("Agent", "Basic Routing Profile")
USER = User("taro.yamada", "Passw0rd-Secret", "太郎", "山田", "taro@example.com", "+81312345678", DEFAULTS)
TAGS = {"stepwise-import-row": "f" * 64}
ERRORS = {
    "ThrottlingException": ConnectThrottled,
    "LimitExceededException": UserQuotaExceeded,
    "DuplicateResourceException": UserExists,
    "InvalidParameterException": ConnectRefused,
    "InvalidRequestException": ConnectRefused,
    "ResourceNotFoundException": InstanceNotFound,
    "InternalServiceException": ConnectUnavailable,
}


@dataclass
class Waiting:
    """A clock that moves only by waiting."""

    now: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def backoff(self, seconds: float, jitter: float = 1.0) -> Backoff:
        return Backoff(seconds, clock=lambda: self.now, sleep=self.sleep, jitter=lambda: jitter)


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


@pytest.fixture
def ours(connect: Simulator, waiting: Waiting) -> Connect:
    return Connect(forget_messages(client(connect.server.address)), waiting.backoff(3.5))


@pytest.fixture
def instances(ours: Connect) -> Instances:
    return Instances(ours, "stepwise", "stepwise-alias")


def create(ours: Connect, instance_id: str, user: User = USER) -> str:
    return ours.create_user(instance_id, user, ours.profiles(instance_id), TAGS)


def test_user_is_created_as_the_row_says_and_found_with_its_tag(ours: Connect, connect: Simulator) -> None:
    instance_id = connect.instance()
    user_id = create(ours, instance_id)
    seen = connect.client.describe_user(InstanceId=instance_id, UserId=user_id)["User"]
    found = ours.find_user(instance_id, "taro.yamada")

    assert seen["IdentityInfo"] == {"FirstName": "太郎", "LastName": "山田", "Email": "taro@example.com"}
    assert seen["PhoneConfig"] == {"PhoneType": "DESK_PHONE", "DeskPhoneNumber": "+81312345678"}
    assert found is not None
    assert (found.id, found.tags) == (user_id, TAGS)
    assert ours.find_user(instance_id, "taro") is None


def test_user_without_a_phone_has_a_soft_phone(ours: Connect, connect: Simulator) -> None:
    instance_id = connect.instance()
    user_id = create(ours, instance_id, User("hanako", "Passw0rd", "花子", "山田", None, None, DEFAULTS))
    seen = connect.client.describe_user(InstanceId=instance_id, UserId=user_id)["User"]

    assert seen["PhoneConfig"]["PhoneType"] == "SOFT_PHONE"
    assert "Email" not in seen["IdentityInfo"]


@pytest.mark.parametrize(("code", "error"), ERRORS.items())
def test_every_create_user_error_maps_to_its_code(
    ours: Connect, connect: Simulator, code: str, error: type[Exception]
) -> None:
    instance_id = connect.instance()
    connect.control.fail("CreateUser", code, message="the user taro.yamada, Passw0rd-Secret", times=50)

    with pytest.raises(error) as refused:
        create(ours, instance_id)

    assert str(refused.value) == f"Amazon Connect answers {code}"
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__


def test_not_even_the_sdk_error_repeats_the_message_of_connect(ours: Connect, connect: Simulator) -> None:
    connect.control.fail("DescribeInstance", "InvalidRequestException", message="about taro.yamada")

    with pytest.raises(ClientError) as refused:
        ours.client.describe_instance(InstanceId="i-1")

    assert "taro" not in str(refused.value)


def test_full_quota_is_told_apart_from_throttling(ours: Connect, connect: Simulator) -> None:
    instance_id = connect.instance()
    connect.control.change(users_per_instance=0)

    with pytest.raises(UserQuotaExceeded):
        create(ours, instance_id)

    assert len(connect.control.requests("CreateUser")) == 1


def test_missing_permission_and_unknown_error_are_reported(ours: Connect, connect: Simulator) -> None:
    instance_id = connect.instance()
    connect.control.fail("CreateUser", "AccessDeniedException", status=403)
    connect.control.fail("CreateUser", "BrandNewException", status=400, message="about taro.yamada")
    connect.control.fail("CreateUser", "BrandNewFailure", status=503)

    with pytest.raises(ConnectDenied):
        create(ours, instance_id)
    with pytest.raises(ClientError, match=r"BrandNewException.*\(left out\)"):
        create(ours, instance_id)
    with pytest.raises(ConnectUnavailable, match="BrandNewFailure"):
        create(ours, instance_id)


@pytest.mark.parametrize("lost", ["lose_answer", "lose_request"])
def test_lost_answer_to_create_user_is_not_followed_by_a_second_attempt(
    ours: Connect, connect: Simulator, lost: str
) -> None:
    instance_id = connect.instance()
    getattr(connect.control, lost)("CreateUser")

    with pytest.raises(ConnectUnavailable, match="no answer"):
        create(ours, instance_id)

    assert len(connect.control.requests("CreateUser")) == 1


def test_throttled_calls_are_retried_with_backoff(ours: Connect, connect: Simulator, waiting: Waiting) -> None:
    instance_id = connect.instance()
    connect.control.fail("CreateUser", "ThrottlingException", times=2)

    assert create(ours, instance_id)
    assert waiting.pauses == [1.0, 2.0]


def test_waiting_ends_before_the_invocation_times_out(ours: Connect, connect: Simulator, waiting: Waiting) -> None:
    instance_id = connect.instance()
    connect.control.fail("CreateUser", "ThrottlingException", times=50)

    with pytest.raises(ConnectThrottled):
        create(ours, instance_id)

    assert sum(waiting.pauses) < 3.5


def test_jitter_spreads_the_pauses() -> None:
    waiting = Waiting()
    answers = iter([ConnectThrottled("busy"), ConnectThrottled("busy"), None])

    def call() -> None:
        answer = next(answers)
        if answer:
            raise answer

    waiting.backoff(60, jitter=0.25).call(call, on=(ConnectThrottled,))

    assert waiting.pauses == [0.25, 0.5]


def test_read_is_retried_after_a_lost_answer(ours: Connect, connect: Simulator) -> None:
    instance_id = connect.instance()
    connect.control.lose_answer("ListSecurityProfiles")
    connect.control.fail("ListRoutingProfiles", "InternalServiceException")

    assert ours.profiles(instance_id).have(DEFAULTS)


def test_instances_are_listed_page_by_page(ours: Connect, connect: Simulator) -> None:
    connect.control.change(instances=25)
    for number in range(23):
        connect.create_instance(InstanceAlias=f"alias-{number}")

    assert len(list(ours.instances())) == 23
    assert len(connect.control.requests("ListInstances")) == 3


def test_page_with_an_empty_token_is_the_last(ours: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = iter([{"InstanceSummaryList": [], "NextToken": "1"}, {"InstanceSummaryList": [], "NextToken": ""}])
    monkeypatch.setattr(ours.client, "list_instances", lambda **_: next(pages))

    assert list(ours.instances()) == []


def test_password_rejected_by_the_model_is_not_repeated(ours: Connect, connect: Simulator) -> None:
    instance_id = connect.instance()
    wrong = User("t" * 101, "short", "f", "l", None, None, DEFAULTS)

    with pytest.raises(ConnectRefused) as refused:
        create(ours, instance_id, wrong)

    assert "t" * 101 not in str(refused.value)


def test_repeated_calls_create_one_instance(instances: Instances, connect: Simulator) -> None:
    first = instances.ensure("import-1")

    assert instances.ensure("import-1") == first
    assert instances.ensure("import-2") == first
    assert [one["tags"] for one in connect.control.instances()] == [{STACK_TAG: "stepwise"}]


def test_lost_answer_does_not_create_two_instances(instances: Instances, connect: Simulator) -> None:
    connect.control.lose_answer("CreateInstance")
    instances.ensure("import-1")

    assert len(connect.control.instances()) == 1


def test_two_concurrent_imports_use_one_instance(instances: Instances, connect: Simulator) -> None:
    """The second one looks before the first one has created it."""
    look, first = Instances._standing, list[str]()

    def look_first(own: Instances, deleted: Any) -> Any:
        found = look(own, deleted)
        if not first:
            first.append("")
            first[0] = instances.ensure("import-1")
        return found

    with mock.patch.object(Instances, "_standing", look_first):
        assert instances.ensure("import-2") == first[0]
    assert len(connect.control.instances()) == 1


def test_alias_of_another_stack_is_not_used(instances: Instances, connect: Simulator) -> None:
    connect.create_instance(InstanceAlias="stepwise-alias", Tags={STACK_TAG: "another-stack"})

    with pytest.raises(InstanceAliasInUse, match="stepwise-alias"):
        instances.ensure("import-1")


def test_failed_instance_counts_as_none(instances: Instances, connect: Simulator) -> None:
    connect.control.fail_creation()
    failed = instances.ensure("import-1")
    connect.clock.advance(60)

    with pytest.raises(InstanceCreationFailed, match="failed to create"):
        instances.ready(failed, DEFAULTS, 1)
    with pytest.raises(InstanceAliasInUse):
        instances.ensure("import-2")
    assert instances.delete_own() == [failed]
    connect.clock.advance(60)
    assert instances.ensure("import-2") != failed


def test_unknown_rejection_is_not_mistaken_for_an_alias_in_use(instances: Instances, connect: Simulator) -> None:
    connect.control.fail("CreateInstance", "BrandNewException", status=400)

    with pytest.raises(ClientError, match="BrandNewException"):
        instances.ensure("import-1")


@pytest.mark.parametrize("alias", ["a" * 46, "d-stepwise", "step_wise", "stepwise-", ""])
def test_invalid_alias_is_rejected_before_any_call(ours: Connect, connect: Simulator, alias: str) -> None:
    with pytest.raises(InstanceAliasInvalid, match="ConnectInstanceAlias"):
        Instances(ours, "stepwise", alias).ensure("import-1")

    assert connect.control.requests() == []
    assert Instances(ours, "stepwise", "a" * 45).ensure("import-1")


def test_exhausted_instance_quota_is_named(instances: Instances, connect: Simulator) -> None:
    connect.control.change(instances=0)

    with pytest.raises(InstanceQuotaExceeded):
        instances.ensure("import-1")


def test_only_instances_with_the_stack_tag_are_deleted(instances: Instances, connect: Simulator) -> None:
    connect.control.change(instances=9)
    own = connect.instance(InstanceAlias="a", Tags={STACK_TAG: "stepwise"})
    connect.instance(InstanceAlias="b", Tags={STACK_TAG: "stepwise-test"})
    connect.instance(InstanceAlias="c", Tags={"owner": "stepwise"})
    connect.instance(InstanceAlias="d")

    assert instances.delete_own() == [own]
    connect.clock.advance(60)
    assert [one["alias"] for one in connect.control.instances()] == ["b", "c", "d"]


def test_instance_being_deleted_is_no_longer_used(instances: Instances, connect: Simulator) -> None:
    first = instances.ensure("import-1")
    connect.clock.advance(60)
    deleted = instances.delete_own()

    assert deleted == [first]
    with pytest.raises(InstanceAliasInUse):
        instances.ensure("import-2", deleted)
    connect.clock.advance(60)
    assert instances.ensure("import-2", deleted) != first


def test_instance_is_ready_when_active_with_its_profiles(instances: Instances, connect: Simulator) -> None:
    instance_id = connect.create_instance()

    assert instances.ready(instance_id, DEFAULTS, 1) is None
    connect.clock.advance(connect.control.settings()["activation_seconds"])
    assert instances.ready(instance_id, DEFAULTS, 2) is None
    connect.clock.advance(connect.control.settings()["profiles_seconds"])
    ready = instances.ready(instance_id, DEFAULTS, 3)
    assert ready is not None
    assert ready.arn.endswith(instance_id)


@pytest.mark.parametrize(
    ("known", "problem"), [(True, "not active yet"), (False, "not to be found")], ids=["in progress", "unknown"]
)
def test_wait_for_an_instance_is_bounded(instances: Instances, connect: Simulator, known: bool, problem: str) -> None:
    instance_id = connect.create_instance() if known else "no-such-instance"

    assert instances.ready(instance_id, DEFAULTS, 59) is None
    with pytest.raises(InstanceNotReady, match=problem):
        instances.ready(instance_id, DEFAULTS, 60)


def test_missing_default_profiles_end_the_wait(instances: Instances, connect: Simulator) -> None:
    with pytest.raises(InstanceNotReady, match="without the default profiles"):
        instances.ready(connect.instance(), ProfileNames("Agent", "No Such Profile"), 60)


def test_instance_in_the_input_must_exist(instances: Instances, connect: Simulator) -> None:
    there = connect.instance()
    instances = dataclasses.replace(instances, allowed=AllowedInstances(("*",)))

    assert instances.chosen(there) == there
    with pytest.raises(InvalidImport, match=r"^instance_id: .*no such instance"):
        instances.chosen("no-such-instance")


def test_only_profiles_named_by_rows_are_passed_on() -> None:
    there = ProfileIds({"Agent": "a", "Admin": "b"}, {"Basic Routing Profile": "c", "Sales": "d"})
    wanted = frozenset({DEFAULTS, ProfileNames("Yamada Taro", "Sales")})

    assert used(there, wanted) == ProfileIds({"Agent": "a"}, {"Basic Routing Profile": "c", "Sales": "d"})


def test_too_many_profiles_are_rejected() -> None:
    names = [f"profile-{number}" for number in range(41)]
    there = ProfileIds(dict.fromkeys(names, "id"), {})

    with pytest.raises(TooManyProfiles):
        used(there, frozenset(ProfileNames(name, "x") for name in names))


@pytest.mark.parametrize("stack", ["stepwise", "s" * 128])
def test_default_alias_is_a_hash_of_the_stack_id_and_shows_no_account(ours: Connect, stack: str) -> None:
    stack_id = f"arn:aws:cloudformation:us-east-1:123456789012:stack/{stack}/5f3c1e9a-0000-4000-8000-000000000000"
    alias = default_alias(stack, stack_id)

    assert alias == f"{stack[:32]}-{hashlib.sha256(stack_id.encode()).hexdigest()[:12]}"
    assert "123456789012" not in alias
    assert alias != default_alias(stack, f"{stack_id}1")
    assert Instances(ours, stack, alias).ensure("import-1")
