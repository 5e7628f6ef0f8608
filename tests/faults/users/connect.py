"""Amazon Connect in this process: the simulator without its server, and its client."""

import json
import types
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError, HTTPClientError

from stepwise.local.simulators.connect import account, instances
from stepwise.local.simulators.connect.account import Account, Resource
from stepwise.local.simulators.connect.errors import ConnectError
from stepwise.local.simulators.connect.operations import OPERATIONS
from stepwise.local.simulators.connect.settings import Settings
from stepwise.local.simulators.connect.simulator import Throttle
from tests.faults.actors import wire
from tests.faults.actors.engine import START
from tests.faults.seams import Document
from tests.faults.users.plan import SECRET
from tests.kit.engines.in_process import Answer, copied, replace

_READ_TIMEOUT = 10
_UNTHROTTLED = {"requests_per_second": 1e6, "burst": 1_000_000}


@dataclass(frozen=True)
class Made:
    """A user created by a call. identity: as of a plan's row. by: the import and the row; None for a person.

    at: of the run. again: whether the row's outcome was recorded when Connect was called.
    """

    user: Resource
    asked: Document
    identity: tuple[str, ...]
    by: tuple[str, int] | None
    at: float
    again: bool


@dataclass
class Outside:
    """Connect in one run. now: seconds since it began. made: every user that ever existed, by id."""

    now: Callable[[], float]
    settings: Settings
    tell: Callable[[Made], None]
    made: dict[str, Made] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.account = Account(self.settings, lambda: START.timestamp() + self.now())
        self._throttle = Throttle(self.now)
        self._ids = 0
        for module in (account, instances):
            replace(module, "uuid", types.SimpleNamespace(uuid4=self._new_id))

    @classmethod
    def of(cls, run: Any) -> "Outside":
        throttles = {} if run.plan.throttles else _UNTHROTTLED
        settings = Settings(search_lag_seconds=run.plan.lag, **throttles)
        return cls(lambda: run.simulation.now, settings, run.judge.user_made)

    def answer(
        self, operation: str, parameters: Document, by: tuple[str, int] | None = None, *, again: bool = False
    ) -> Answer:
        """Answer a request. Messages repeat the input, as Connect's may."""
        if by and not self._throttle.admits(operation, self.settings):
            return refusal("ThrottlingException", 429)
        try:
            found = OPERATIONS[operation](self.account, parameters)
        except ConnectError as error:
            return refusal(error.code, 400, f"{error.message}: {parameters}")
        if operation == "CreateUser":
            self._made(found["UserId"], parameters, by, again)
        return 200, {}, found  # type: ignore[return-value]

    def _made(self, user_id: str, asked: Document, by: tuple[str, int] | None, again: bool) -> None:
        instance, names = self.account.instance(asked["InstanceId"]), asked["IdentityInfo"]
        profiles = {one.id: one.attributes["Name"] for one in instance.security_profiles}
        cells = asked["Username"], names["FirstName"], names["LastName"], names.get("Email", "")
        identity = (*cells, *(profiles[one] for one in asked["SecurityProfileIds"]))
        self.made[user_id] = Made(instance.users[user_id], asked, identity, by, self.now(), again)
        self.tell(self.made[user_id])

    def _new_id(self) -> uuid.UUID:
        self._ids += 1
        return uuid.UUID(int=self._ids)


class Client(wire.Client):
    """Replaces botocore's client, with one try. Errors pass the registered hook, with their messages."""

    hooks: tuple[Callable[..., None], ...] = ()

    @property
    def meta(self) -> Any:
        return types.SimpleNamespace(events=types.SimpleNamespace(register=self._register))

    def _register(self, _: str, hook: Callable[..., None]) -> None:
        self.hooks = (hook,)

    def _json(self, operation: str, parameters: Document) -> tuple[wire.Send, bytes]:
        run, asked = self.wire.on, copied(parameters)  # type: ignore[attr-defined]
        by = run.row()
        again = by in run.judge.recorded
        return lambda: run.outside.answer(operation, asked, by, again=again), b""

    def _answered(self, operation: str, parameters: Document) -> Document:
        try:
            return super()._answered(operation, parameters)
        except HTTPClientError:
            self.wire.pause(_READ_TIMEOUT)
            raise
        except ClientError as error:
            parsed: Any = error.response
            parsed["Error"]["Message"] = parsed.get("message", "")
            for hook in self.hooks:
                hook(parsed=parsed)
            raise ClientError(parsed, operation) from None


def refusal(code: str, status: int, message: str = f"not for {SECRET}") -> Answer:
    return status, {}, json.dumps({"__type": code, "message": message}).encode()
