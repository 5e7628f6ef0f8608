"""All calls to Amazon Connect. Maps its errors by their code and drops their messages; waits where it throttles."""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError, ParamValidationError

from runtime.context import LambdaContext

from .errors import (
    ConnectDenied,
    ConnectRefused,
    ConnectThrottled,
    ConnectUnavailable,
    InstanceNotFound,
    InstanceQuotaExceeded,
    UserExists,
    UserQuotaExceeded,
)
from .user import ProfileIds, User

if TYPE_CHECKING:
    from mypy_boto3_connect import ConnectClient


# Connect refills two tokens a second for all callers, so a longer pause would leave tokens unused.
_FIRST_SECONDS, _MAX_SECONDS = 1.0, 2.0
# Reserved at the end of an invocation for a last call to Connect, which may take 2 + 10 s.
_RESERVE = timedelta(seconds=13)


@dataclass(frozen=True, slots=True)
class Backoff:
    """until: when to give up, by `clock`. clock, sleep: in seconds. jitter: returns a number from 0 to 1."""

    until: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random

    def call[R](self, operation: Callable[[], R], *, on: tuple[type[Exception], ...]) -> R:
        """Call until it raises none of these errors. After `until`, raise the last error."""
        for attempt in count():
            try:
                return operation()
            except on:
                pause = self.jitter() * min(_MAX_SECONDS, _FIRST_SECONDS * 2**attempt)
                if self.clock() + pause >= self.until:
                    raise
            self.sleep(pause)
        raise AssertionError("unreachable")


def backoff_until(context: LambdaContext) -> float:
    """Return the time on the monotonic clock until which to retry Connect."""
    remaining = timedelta(milliseconds=context.get_remaining_time_in_millis())
    return time.monotonic() + (remaining - _RESERVE).total_seconds()


ACTIVE = "ACTIVE"
CREATION_FAILED = "CREATION_FAILED"

# Throttling and a full quota are both HTTP 429, so the code decides. Any other code is a failure of Connect from
# status 500 on, and unexpected below.
_ERRORS: Mapping[str, type[Exception]] = {
    "ThrottlingException": ConnectThrottled,
    "TooManyRequestsException": ConnectThrottled,
    "RequestTimeout": ConnectUnavailable,
    "LimitExceededException": UserQuotaExceeded,
    "ServiceQuotaExceededException": InstanceQuotaExceeded,
    "DuplicateResourceException": UserExists,
    "InvalidParameterException": ConnectRefused,
    "InvalidRequestException": ConnectRefused,
    "ResourceNotFoundException": InstanceNotFound,
    "AccessDeniedException": ConnectDenied,
}
_FAILURES_OF_CONNECT = 500
_TRY_AGAIN = (ConnectThrottled, ConnectUnavailable)


@dataclass(frozen=True, slots=True)
class Instance:
    """status: CREATION_IN_PROGRESS, ACTIVE or CREATION_FAILED."""

    id: str
    arn: str
    alias: str
    status: str
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FoundUser:
    id: str
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Connect:
    """client: a `boto3.client("connect")` without retries. backoff: how long to wait while Connect throttles."""

    client: "ConnectClient"
    backoff: Backoff

    def instances(self) -> Iterator[Instance]:
        """Every instance of the account in this Region, without tags."""
        for page in self._pages("list_instances", MaxResults=10):
            yield from (_instance(summary) for summary in page["InstanceSummaryList"])

    def instance(self, instance_id: str) -> Instance:
        """Raises InstanceNotFound, ConnectRefused (an invalid id)."""
        return _instance(self._read(lambda: self.client.describe_instance(InstanceId=instance_id))["Instance"])

    def create_instance(self, alias: str, *, token: str, tags: Mapping[str, str]) -> str:
        """Start to create an instance; returns its id. The same token creates one instance.

        Raises ConnectRefused (the alias is taken, or malformed), InstanceQuotaExceeded.
        """
        answer = self._read(
            lambda: self.client.create_instance(
                ClientToken=token,
                IdentityManagementType="CONNECT_MANAGED",
                InstanceAlias=alias,
                InboundCallsEnabled=True,
                OutboundCallsEnabled=True,
                Tags=dict(tags),
            )
        )
        return str(answer["Id"])

    def delete_instance(self, instance_id: str) -> None:
        """Start to delete an instance. Succeeds if it does not exist."""
        try:
            self._read(lambda: self.client.delete_instance(InstanceId=instance_id))
        except InstanceNotFound:
            return

    def profiles(self, instance_id: str) -> ProfileIds:
        """All profiles of an instance."""
        security = self._pages("list_security_profiles", InstanceId=instance_id, MaxResults=1000)
        routing = self._pages("list_routing_profiles", InstanceId=instance_id, MaxResults=1000)
        return ProfileIds(
            {one["Name"]: one["Id"] for page in security for one in page["SecurityProfileSummaryList"]},
            {one["Name"]: one["Id"] for page in routing for one in page["RoutingProfileSummaryList"]},
        )

    def create_user(self, instance_id: str, user: User, profiles: ProfileIds, tags: Mapping[str, str]) -> str:
        """Create the user; returns its id. Does not retry after a lost answer: see ConnectUnavailable.

        Raises UserExists, UserQuotaExceeded, ConnectRefused, ConnectDenied, InstanceNotFound, ConnectThrottled.
        """
        identity = {"FirstName": user.first_name, "LastName": user.last_name}
        parameters: dict[str, Any] = {
            "InstanceId": instance_id,
            "Username": user.username,
            "Password": user.password,
            "IdentityInfo": identity | ({"Email": user.email} if user.email else {}),
            "PhoneConfig": _phone(user),
            "SecurityProfileIds": [profiles.security[user.profiles.security]],
            "RoutingProfileId": profiles.routing[user.profiles.routing],
            "Tags": dict(tags),
        }
        answer = self.backoff.call(
            lambda: _answered(lambda: self.client.create_user(**parameters)), on=(ConnectThrottled,)
        )
        return str(answer["UserId"])

    def find_user(self, instance_id: str, username: str) -> FoundUser | None:
        """The user of exactly this name. May miss a user that was just created."""
        criteria = {"StringCondition": {"FieldName": "Username", "Value": username, "ComparisonType": "EXACT"}}
        for page in self._pages("search_users", InstanceId=instance_id, SearchCriteria=criteria):
            for user in page["Users"]:
                if user["Username"] == username:
                    return FoundUser(user["Id"], user.get("Tags", {}))
        return None

    def _pages(self, operation: str, **parameters: Any) -> Iterator[Mapping[str, Any]]:
        """The pages of a list, each requested with backoff."""
        call = getattr(self.client, operation)
        token: str | None = ""
        while token is not None:
            page = self._read(partial(call, **parameters, **({"NextToken": token} if token else {})))
            yield page
            token = page.get("NextToken") or None

    def _read[R](self, call: Callable[[], R]) -> R:
        return self.backoff.call(lambda: _answered(call), on=_TRY_AGAIN)


def forget_messages(client: "ConnectClient") -> "ConnectClient":
    """Reduce this client's errors to their code, because a message may repeat its input."""
    client.meta.events.register("after-call.connect", _forget_message)
    return client


def _forget_message(parsed: dict[str, Any], **_: Any) -> None:
    if "Error" in parsed:
        parsed["Error"]["Message"] = "(left out)"


def _answered[R](call: Callable[[], R]) -> R:
    try:
        return call()
    except ClientError as error:
        raise _meant(error) from None
    except (ConnectionError, HTTPClientError) as error:
        raise ConnectUnavailable(f"no answer from Amazon Connect ({type(error).__name__})") from None
    except ParamValidationError:
        raise ConnectRefused("a parameter does not match Amazon Connect's model") from None


def _meant(error: ClientError) -> Exception:
    code, status = error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"]
    if code in _ERRORS:
        return _ERRORS[code](f"Amazon Connect answers {code}")
    if status >= _FAILURES_OF_CONNECT:
        return ConnectUnavailable(f"Amazon Connect answers {code}")
    return error


def _instance(answer: Mapping[str, Any]) -> Instance:
    alias, tags = answer.get("InstanceAlias", ""), answer.get("Tags", {})
    return Instance(answer["Id"], answer["Arn"], alias, answer["InstanceStatus"], tags)


def _phone(user: User) -> dict[str, Any]:
    if user.phone:
        return {"PhoneType": "DESK_PHONE", "DeskPhoneNumber": user.phone}
    return {"PhoneType": "SOFT_PHONE"}
