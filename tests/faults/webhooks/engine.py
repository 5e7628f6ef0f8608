"""The functions of webhooks, with threads that are actors, Parameter Store, and receivers behind the sender."""

import base64
import dataclasses
import types
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Self

from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from runtime import clients, exchange
from runtime.exchange import NoResponse, Response
from stepwise.operations.stack import Stack
from tests.faults.actors import engine as shared
from tests.faults.actors import wire
from tests.faults.actors.engine import functions_of
from tests.faults.seams import Document
from tests.faults.webhooks.threads import Pool, wait_for
from tests.kit.engines.in_process import Answer, replace
from webhooks import delivering, handlers, sending, state, subscribing, sweep, table

if TYPE_CHECKING:
    from tests.faults.webhooks.run import Run

# The same protocol in fewer calls: a small backlog fills several lanes, and a failing day has fewer tries.
_SHARDS, _AT_ONE, _HUNG, _FIRST_PAUSE = 1, 2, 1, timedelta(minutes=10)
_SENDERS, _SHARE = 2, 1
_ENVIRONMENTS = 2
_PUBLIC = ["93.184.216.34"]
_ERRORS = {name: type(name, (ClientError,), {}) for name in ("ParameterNotFound", "ParameterAlreadyExists")}


class Engine(shared.Engine):
    MACHINE: ClassVar = ""
    TABLES: ClassVar = ("WebhooksTable",)
    BUCKET: ClassVar = "JobsBucket"
    FUNCTIONS: ClassVar = functions_of("webhooks")

    def start(self) -> Self:
        super().start()
        own, client = handlers.deliveries.__wrapped__(), clients.client("ssm")
        replace(handlers, "deliveries", lambda: self.on.environment())
        self.deliveries = own
        subscribes = dataclasses.replace(handlers.subscribing.__wrapped__(), resolve=_resolve)
        replace(handlers, "subscribing", lambda: subscribes)
        nobody: Any = None
        outputs = {"WebhooksTable": own.table.name, "WebhookSecrets": own.endpoints.prefix}
        self.operators = Stack(nobody, None, outputs)
        self.operators._clients.update(dynamodb=own.table.client, ssm=client)
        return self

    def create_machine(self, name: str) -> None:
        """Do nothing: webhooks have no machine."""

    def begin(self, run: "Run") -> None:
        super().begin(run)
        replace(sweep, "_OF_ONE", run.plan.of_one)
        replace(handlers, "_MILLISECONDS_FOR_A_TRY", run.plan.reserved)
        replace(subscribing, "MAX_SUBSCRIPTIONS", run.plan.limit)
        run.environments = [
            dataclasses.replace(
                self.deliveries,
                endpoints=dataclasses.replace(self.deliveries.endpoints, clock=self._seconds, _kept={}),
                sender=dataclasses.replace(self.deliveries.sender, resolve=_resolve),
                clock=lambda: shared.present(self._seconds).now(shared.UTC),
                owner=lambda: str(run.new_id().hex),
            )
            for _ in range(_ENVIRONMENTS)
        ]

    def hold(self) -> None:
        super().hold()
        replace(clients, "session", lambda: _Session(self))
        for module in (sending, subscribing):
            replace(module, "datetime", shared.present(self._seconds))
        for module in (state, table):
            replace(module, "SHARDS", _SHARDS)
        for module in (delivering, sweep):
            replace(module, "ThreadPoolExecutor", lambda _: Pool(self.on))
        replace(sweep, "wait", wait_for)
        replace(sweep, "_SENDERS", _SENDERS)
        replace(sweep, "_SHARE", _SHARE)
        replace(subscribing, "new_secret", self._secret)
        replace(subscribing, "new_version", lambda: str(self.on.new_id().hex))
        replace(sweep, "_AT_ONE", _AT_ONE)
        replace(sweep, "_HUNG", _HUNG)
        replace(delivering, "_FIRST_PAUSE", _FIRST_PAUSE)
        delivering.pause_after.__defaults__ = (lambda: self.on.chance.random(),)
        log = types.SimpleNamespace(info=_unread, warning=lambda message, extra: self.on.logged(message, extra))
        replace(delivering, "_logger", log)
        for module in (sending, exchange):
            replace(module, "time", types.SimpleNamespace(monotonic=self._seconds))
        replace(sending, "_within", lambda _, call: call())
        replace(sending.Sender, "_post", lambda _, *given: self._post(*given))

    def _seconds(self) -> float:
        return float(self.on.simulation.now)

    def _secret(self) -> str:
        return f"whsec_{base64.b64encode(self.on.new_id().hex.encode()).decode()}"

    def _post(self, address: Any, _ips: Any, deadline: Any, headers: Document, body: str) -> Any:
        """Send a request to a receiver, as the HTTP client does."""
        self.call("receiver.Post")
        deadline.left()
        try:
            status, given, _ = self.sent("receiver", lambda: self.on.receive(address.url, deadline, headers, body), b"")
        except EndpointConnectionError:
            raise NoResponse("no connection") from None
        except ReadTimeoutError:
            self.pause(deadline.left())
            raise NoResponse("no answer in time") from None
        return Response(status, {name.lower(): value for name, value in given.items()}, b"thanks")

    def execute(self, operation: str, parameters: Document) -> Answer:
        answer: Any = super().execute(operation, parameters)
        if parameters.get("IndexName") == table.DUE and self.run and self.run.reads_late():
            items = self.run.as_before(answer[2]["Items"], parameters["ExpressionAttributeValues"][":now"])
            return answer[0], answer[1], {**answer[2], "Items": items}  # type: ignore[return-value]
        return answer  # type: ignore[no-any-return]


class _Session(wire.Session):
    def create_client(self, service: str, **more: Any) -> wire.Client:
        return _ParameterStore(service, self.wire) if service == "ssm" else super().create_client(service, **more)


class _ParameterStore(wire.Client):
    """A Parameter Store whose parameters are kept in the run."""

    exceptions: ClassVar = types.SimpleNamespace(**_ERRORS)

    def _json(self, operation: str, parameters: Document) -> tuple[wire.Send, bytes]:
        own: Any = self.wire
        return lambda: own.on.parameter(operation, parameters), b""

    def _answered(self, operation: str, parameters: Document) -> Document:
        try:
            return super()._answered(operation, parameters)
        except ClientError as error:
            known = _ERRORS.get(error.response["Error"]["Code"], ClientError)
            raise known(error.response, operation) from None


def _resolve(_host: str, _port: int) -> list[str]:
    return _PUBLIC


def _unread(*_: Any, **__: Any) -> None:
    """Keep nothing: nobody reads it."""
