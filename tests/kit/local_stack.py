"""One stack for all tests: the real template, deployed by the real SAM CLI to a separate emulator.

Or a deployed one: `deployed.py`. A test that takes `stack` knows only its outputs; one that takes `running` or
`resources` knows more, and runs only on the emulator.
"""

import itertools
import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from ordering.definition import STEP_NAMES
from ordering.stock import reservation_key, stock_key
from stepwise.local.deployment import deploy
from stepwise.local.emulator import emulator
from stepwise.local.simulators.connect.remote_control import RemoteControl
from stepwise.local.simulators.webhook_receiver.client import parameters
from stepwise.operations import orders, stock
from stepwise.operations.stack import Row, Stack
from tests.kit.belongings import CURRENCY, RUN, Belongings
from tests.kit.deployed import INSTANCE, REMOVED, STACK
from tests.kit.injection import Resources
from tests.kit.removal import remove
from tests.kit.template import of_type
from tests.kit.user_imports import QUICK, Imports

__all__ = [
    *("_connect", "alerts", "belongings", "events", "imports", "invoke", "on_hand", "order", "resources", "routine"),
    *("rows_of", "run", "running", "sku", "stack", "stack_options", "simulator"),
]

type Document = dict[str, Any]

# Shortens waits: the history is the same, sooner.
QUICKLY = {"SFN_WAIT_SCALE": "0.005", "LAMBDA_ASYNC_RETRY_BASE_SECONDS": "0.05"}

# The machine of docs/add-an-approval.md, which tests deploy next to the stack.
WAITING = "arn:aws:states:us-east-1:000000000000:stateMachine:price-release-price-release"

# Keys by which a notice may name its subject.
_SUBJECTS = ("order_id", "application_id", "import_id", "execution", "AlarmName", "id")

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def running() -> Iterator[emulator.Emulator]:
    with emulator.attached(QUICKLY) as started:
        others = {"AllowReset": "true", "ApprovalMachineArns": WAITING}
        deploy(started.endpoint, started.log, **others, **parameters(started.simulators["webhooks"]))
        yield started


@pytest.fixture(scope="session")
def stack(request: pytest.FixtureRequest) -> Stack:
    given = request.config.stash.get(STACK, None)
    if given:
        return given
    running = request.getfixturevalue("running")
    return Stack.local(running.endpoint, services=running.simulators)


@pytest.fixture(scope="session")
def stack_options(request: pytest.FixtureRequest) -> list[str]:
    """The options of `./stepwise` that select the stack."""
    if STACK in request.config.stash:
        return ["--aws", "--stack", request.config.getoption("--stack")]
    return ["--port", str(request.getfixturevalue("running").port)]


@pytest.fixture(scope="session")
def belongings(request: pytest.FixtureRequest, stack: Stack) -> Iterator[Belongings]:
    """Everything that the tests create. On a shared stack it is deleted at the end, even after failures."""
    made = Belongings(stack)
    yield made
    if STACK in request.config.stash:
        request.config.stash[REMOVED] = remove(made)


@pytest.fixture(scope="session")
def resources(stack: Stack) -> Resources:
    return Resources(stack)


@pytest.fixture(scope="session")
def _connect(running: emulator.Emulator) -> RemoteControl:
    connect = RemoteControl(running.simulators["connect"])
    connect.change(**QUICK)
    return connect


@pytest.fixture
def simulator(_connect: RemoteControl) -> Iterator[RemoteControl]:
    """The simulator of Amazon Connect, without faults and recorded requests."""
    _connect.clear_requests()
    yield _connect
    _connect.clear_faults()


@pytest.fixture
def imports(request: pytest.FixtureRequest, stack: Stack, belongings: Belongings) -> Imports:
    """Imports of users. On a deployed stack, they run only into a given Amazon Connect instance."""
    if STACK not in request.config.stash:
        request.getfixturevalue("_connect")
        return Imports(stack, belongings)
    if not request.config.stash[INSTANCE]:
        pytest.skip("users are created in Amazon Connect only where CONNECT_INSTANCE names an instance")
    return Imports(stack, belongings, request.config.stash[INSTANCE])


@pytest.fixture
def sku(stack: Stack, belongings: Belongings) -> str:
    """The test's own SKU, 10 on hand."""
    name = f"{RUN}-sku-{uuid.uuid4().hex[:12]}"
    belongings.sku(name)
    stock.seed(stack, {name: 10})
    return name


@pytest.fixture
def order(sku: str, belongings: Belongings) -> Document:
    """The test's own order: 2 pieces of its SKU at 1,500."""
    order_id = f"{RUN}-{next(_numbers)}-{uuid.uuid4().hex[:8]}"
    belongings.saga(order_id)
    return {
        "order_id": order_id,
        "customer_id": RUN,
        "currency": CURRENCY,
        "items": [{"sku": sku, "quantity": 2, "unit_price": 1500}],
        "payment": {"method": "card", "token": "tok_visa"},
    }


@dataclass(frozen=True)
class Invocation:
    """The result of a direct invocation. error: the class name of the function's error."""

    error: str | None
    message: str
    result: Any


@pytest.fixture
def invoke(stack: Stack) -> Callable[[str, Any], Invocation]:
    """Invoke a function directly."""

    def call(function: str, event: Any) -> Invocation:
        answer = stack.client("lambda").invoke(
            FunctionName=stack.outputs[f"{function}FunctionArn"], Payload=json.dumps(event)
        )
        body = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            return Invocation(body["errorType"], body["errorMessage"], None)
        return Invocation(None, "", body)

    return call


@dataclass(frozen=True)
class Saga:
    """The end of a saga: its execution, and everything left of its order."""

    execution: orders.Execution
    view: orders.OrderView

    @property
    def states(self) -> list[str]:
        return [visit.name for visit in self.execution.states]

    def visit(self, state: str) -> orders.StateVisit:
        return next(visit for visit in self.execution.states if visit.name == state)


@pytest.fixture
def run(stack: Stack) -> Callable[..., Saga]:
    """Start the saga with any input, and wait for its end."""

    def start(document: Any, *, order_id: str | None = None) -> Saga:
        name = order_id or document["order_id"]
        stack.stepfunctions.start_execution(
            stateMachineArn=stack.outputs["OrderSagaArn"], name=name, input=json.dumps(document)
        )
        execution = orders.ended(stack, name, seconds=120)
        if execution.status == "SUCCEEDED":
            return Saga(execution, orders.finalized(stack, name, seconds=300))
        return Saga(execution, orders.view(stack, name))

    return start


def rows_of(stack: Stack, order: Document) -> list[Row | None]:
    """Every row that an order writes, except the reports', which follow asynchronously."""
    order_id, skus = order["order_id"], [item["sku"] for item in order["items"]]
    return [
        stack.row("OrdersTable", order_id=order_id),
        stack.row("PaymentsTable", order_id=order_id),
        *(stack.row("InventoryTable", pk=key) for key in (reservation_key(order_id), *map(stock_key, skus))),
        *(stack.row("IdempotencyTable", pk=f"{order_id}#{step}") for step in STEP_NAMES),
    ]


@pytest.fixture
def on_hand(stack: Stack, sku: str) -> Callable[[], int]:
    """Pieces of the test's SKU."""

    def count() -> int:
        row = stack.row("InventoryTable", pk=stock_key(sku))
        assert row is not None
        return int(row["on_hand"])

    return count


@pytest.fixture
def alerts(stack: Stack) -> Iterator[Callable[[str], list[Any]]]:
    """The mails about an order, an import or an alarm since the test began, received through the mail subscription."""
    about = {"TopicArn", "Protocol", "Endpoint"}
    mail = of_type("AWS::SNS::Subscription")["AlertEmailSubscription"]
    with _messages(stack, "AlertsTopicArn", {name: json.dumps(mail[name]) for name in mail.keys() - about}) as read:
        yield read


@pytest.fixture
def routine(stack: Stack) -> Iterator[Callable[[str], list[Any]]]:
    """The routine topic's messages about an order since the test began."""
    with _messages(stack, "RoutineTopicArn") as read:
        yield read


@pytest.fixture
def events(stack: Stack) -> Iterator[Callable[[str], list[Any]]]:
    """The order events about an order since the test began."""
    with _messages(stack, "OrderEventsTopicArn") as read:
        yield read


@contextmanager
def _messages(
    stack: Stack, topic_output: str, attributes: dict[str, str] | None = None
) -> Iterator[Callable[[str], list[Any]]]:
    with listening(stack, topic_output, attributes) as received:

        def read(name: str) -> list[Any]:
            bodies = [json.loads(one["Message"]) for one in received()]
            return [body for body in bodies if name in {body.get(field) for field in _SUBJECTS}]

        yield read


@contextmanager
def listening(
    stack: Stack, topic_output: str, attributes: dict[str, str] | None = None
) -> Iterator[Callable[[], list[Any]]]:
    """Messages that a topic delivers to a new subscription. attributes: of the subscription."""
    sns, sqs = stack.client("sns"), stack.client("sqs")
    queue = sqs.create_queue(QueueName=f"listener-{uuid.uuid4().hex}")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    _let_topics_send(sqs, queue, arn)
    topic = stack.outputs[topic_output]
    subscription = sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=attributes or {})[
        "SubscriptionArn"
    ]

    def read() -> list[Any]:
        received = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages", [])
        return [json.loads(message["Body"]) for message in received]

    try:
        yield read
    finally:
        sns.unsubscribe(SubscriptionArn=subscription)
        sqs.delete_queue(QueueUrl=queue)


def _let_topics_send(sqs: Any, queue: str, arn: str) -> None:
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "sns.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": arn,
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": policy})
