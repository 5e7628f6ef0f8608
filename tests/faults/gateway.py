"""The payment gateway in this process: the simulator without its server, and faults on the way to it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from runtime import exchange
from runtime.exchange import NoResponse, Response
from stepwise.local.simulators.payment_gateway.faults import another_answer
from stepwise.local.simulators.payment_gateway.ledger import SUCCEEDED, Ledger, standing
from stepwise.local.simulators.payment_gateway.messages import Request, naming_key, problem
from stepwise.local.simulators.payment_gateway.server import route
from stepwise.local.simulators.payment_gateway.simulator import CHARGES, Simulator
from stepwise.local.simulators.serving import Answer
from tests.faults import faults as f
from tests.faults.invocation import Died

ADDRESS = "http://gateway.test"
SECRET = "secret-of-the-gateway"
CALLS = {f"gateway.{kind}" for kind in ("charge", "lookup", "cancel")}
# The client's timeouts, for a response and for a connection.
_READ_SECONDS, _CONNECT_SECONDS = 5, 2
_GARBAGE = b"<html>Bad Gateway</html>"
# Possible contents of a response to another request, by the kind of the request that gets it.
_ANOTHER = {"charge": 402, "lookup": 404, "cancel": 200}
# Longer than any request can take to arrive.
_RETENTION_SECONDS = 24 * 3600.0


@dataclass
class Gateway:
    """A simulator, cleared before each run.

    asking: the order whose function sends the next request. asked: by key, the first order that asked.
    sent: the request being sent.
    """

    asking: str = ""
    sent: Request = field(default_factory=lambda: Request("charge", ""))
    asked: dict[str, str] = field(default_factory=dict)
    _seconds: float = 0.0

    def __post_init__(self) -> None:
        self.simulator = Simulator(lambda: Ledger(_RETENTION_SECONDS, lambda: self._seconds))
        self.simulator.access.rotate(SECRET)

    def reset(self) -> None:
        """Forget everything."""
        self.simulator.reset()
        self.asked.clear()

    def forget_keys(self) -> None:
        """Let time pass until the keys are forgotten."""
        self._seconds += _RETENTION_SECONDS + 1

    def answer(self, request: Request) -> Response:
        """Return the processor's response, after its effect."""
        self.asked.setdefault(request.key, self.asking)
        return response(self.simulator.handle(request))

    def standing(self, order_id: str) -> list[int]:
        """Return the amounts of the order's standing charges."""
        by_key = standing(self.simulator.ledger.snapshot()[1])
        return [amount for key, amounts in by_key.items() if self.asked[key] == order_id for amount in amounts]

    def charge_id(self, order_id: str) -> str | None:
        """Return the gateway's id of the order's standing charge, if there is one."""
        charges, _ = self.simulator.ledger.snapshot()
        return next(
            (one.charge_id for one in charges if self.asked[one.key] == order_id and one.status == SUCCEEDED), None
        )

    def state(self) -> tuple[object, object]:
        """Return everything that a request can change: the state of each key, and the movements of money."""
        charges, movements = self.simulator.ledger.snapshot()
        return charges, movements


def understood(request: exchange.Request, made: str = CHARGES.path) -> Request:
    """Parse the request as the processor does. Raises ValueError for an unknown path."""
    key, authorization = (request.headers.get(name, "") for name in ("Idempotency-Key", "Authorization"))
    found = route(request.method, request.target, key, request.body, authorization, made)
    if isinstance(found, Answer):
        raise ValueError(f"the processor knows no {request.method} {request.target}")
    return found


def response(given: Answer) -> Response:
    """Convert a response to the client's form."""
    return Response(given.status, {}, given.body)


@dataclass(frozen=True, slots=True)
class Way:
    """Transport of one request to the gateway and back.

    injects: whether a kind of fault is due. lands_later: notes that the request lands (again) later, if a kind of fault
    requires it, and returns whether it does. wait: lets time pass.
    """

    sent: Request
    send: Callable[[], Response]
    injects: Callable[[str], bool]
    lands_later: Callable[[str], bool]
    wait: Callable[[float], None]

    def go(self) -> Response:
        """Send the request. Raises NoResponse or Died."""
        if (refused := self._not_done()) is not None:
            return refused
        answer = self.send()
        self.lands_later(f.DELIVERED_AGAIN)
        if self.injects(f.DELIVERED_TWICE):
            self.send()
        if self.injects(f.DIES_AFTER):
            raise Died
        if self.injects(f.ANSWER_LOST):
            raise self._unanswered()
        if self.injects(f.FAILS_AFTER):
            return self._problem(500)
        if self.injects(f.ANOTHER):
            return response(another_answer(_ANOTHER[self.sent.kind]))
        return Response(answer.status, {}, _GARBAGE) if self.injects(f.GARBLED) else answer

    def _not_done(self) -> Response | None:
        if self.injects(f.DIES_BEFORE):
            raise Died
        if self.injects(f.UNREACHABLE):
            self.wait(_CONNECT_SECONDS)
            raise NoResponse("no connection")
        if self.lands_later(f.HELD):
            raise self._unanswered()
        statuses = {f.THROTTLED: 429, f.FAILS_BEFORE: 503, f.REFUSED: 401}
        return next((self._problem(status) for kind, status in statuses.items() if self.injects(kind)), None)

    def _problem(self, status: int) -> Response:
        return response(naming_key(lambda _: problem(status, "problem", "-"))(self.sent))

    def _unanswered(self) -> Exception:
        self.wait(_READ_SECONDS)
        return NoResponse("no answer in time")
