"""Faults on the way to DynamoDB."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import ConnectTimeoutError, ReadTimeoutError

from tests.store.database import Database

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class ProcessDied(BaseException):
    """The process crashes here. A BaseException, so that no handler catches it."""


def refuse_connections() -> None:
    """Refuse the connection; for `meanwhile`."""
    raise ConnectTimeoutError(endpoint_url="https://dynamodb")


@dataclass
class Wire:
    """Replaces a client's sending: counts calls, and injects a fault into one call, numbered from 1.

    lose: the call that is executed without an answer.
    twice: the call that is executed twice, as by an SDK that lost the first answer; the second answer arrives.
    delay: the call that gets no answer and is only added to `delayed`.
    die: the first call before which the process crashes.
    meanwhile: called before each call.
    """

    lose: int = 0
    twice: int = 0
    delay: int = 0
    delayed: list[AWSPreparedRequest] = field(default_factory=list)
    die: int = 0
    meanwhile: Mapping[int, Callable[[], Any]] = field(default_factory=dict)
    sent: int = 0

    def client(self, database: Database, *, attempts: int = 1) -> "DynamoDBClient":
        """A client that sends over this wire."""
        client = database.client(attempts=attempts)

        def before_send(request: AWSPreparedRequest, **_: Any) -> None:
            self._befalls(request, database)

        client.meta.events.register_first("before-send.dynamodb", before_send)
        return client

    def _befalls(self, request: AWSPreparedRequest, database: Database) -> None:
        self.sent += 1
        if 0 < self.die <= self.sent:
            raise ProcessDied
        self.meanwhile.get(self.sent, lambda: None)()
        if self.sent in (self.lose, self.twice):
            database.engine.send(request)
        if self.sent == self.delay:
            self.delayed.append(request)
        if self.sent in (self.lose, self.delay):
            raise ReadTimeoutError(endpoint_url=request.url)
