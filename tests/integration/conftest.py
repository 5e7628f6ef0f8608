"""One stack for all tests: the real template, deployed by the real SAM CLI to an emulator of its own."""

import itertools
import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from local import emulator, orders, stock
from local.deployment import deploy
from local.stack import Stack
from tests.integration.faults import Resources
from tests.integration.users import QUICK, Imports

type Document = dict[str, Any]

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def running() -> Iterator[emulator.Emulator]:
    # Waits at a fraction of their length: the history shows the same, sooner.
    quick = {"SFN_WAIT_SCALE": "0.005", "LAMBDA_ASYNC_RETRY_BASE_SECONDS": "0.05"}
    with emulator.attached(quick) as started:
        deploy(started.endpoint, started.log)
        yield started


@pytest.fixture(scope="session")
def stack(running: emulator.Emulator) -> Stack:
    return Stack.local(running.endpoint)


@pytest.fixture(scope="session")
def resources(stack: Stack) -> Resources:
    return Resources(stack)


@pytest.fixture(scope="session")
def _imports(stack: Stack, running: emulator.Emulator) -> Imports:
    imports = Imports(stack, running)
    imports.connect.change(**QUICK)
    return imports


@pytest.fixture
def imports(_imports: Imports) -> Iterator[Imports]:
    """Without faults, and with no request counted yet."""
    _imports.connect.clear_requests()
    yield _imports
    _imports.connect.clear_faults()


@pytest.fixture
def sku(stack: Stack) -> str:
    """A SKU of the test's own, 10 on hand."""
    name = f"sku-{uuid.uuid4().hex[:12]}"
    stock.seed(stack, {name: 10})
    return name


@pytest.fixture
def order(sku: str) -> Document:
    """An order of the test's own: 2 pieces of its SKU at 1,500."""
    return {
        "order_id": f"o-{next(_numbers)}-{uuid.uuid4().hex[:8]}",
        "customer_id": "c-7",
        "currency": "JPY",
        "items": [{"sku": sku, "quantity": 2, "unit_price": 1500}],
        "payment": {"method": "card", "token": "tok_visa"},
    }


@dataclass(frozen=True)
class Invocation:
    """error: the class name of what the function raised."""

    error: str | None
    message: str
    result: Any


@pytest.fixture
def invoke(stack: Stack, resources: Resources) -> Callable[[str, Any], Invocation]:
    """Call a function alone, as Lambda would deliver it."""

    def call(function: str, event: Any) -> Invocation:
        answer = stack.client("lambda").invoke(FunctionName=resources[f"{function}Function"], Payload=json.dumps(event))
        body = json.loads(answer["Payload"].read())
        if "FunctionError" in answer:
            return Invocation(body["errorType"], body["errorMessage"], None)
        return Invocation(None, "", body)

    return call


@dataclass(frozen=True)
class Saga:
    """How a saga ended: its execution, and everything that its order left behind."""

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
        read = orders.settled if execution.status == "SUCCEEDED" else orders.view
        return Saga(execution, read(stack, name))

    return start


@pytest.fixture
def on_hand(stack: Stack, sku: str) -> Callable[[], int]:
    """Pieces of the test's SKU."""
    return lambda: stock.on_hand(stack)[sku]


@pytest.fixture
def alerts(stack: Stack) -> Iterator[Callable[[str], list[Any]]]:
    """What the alerts topic said of an order since the test began."""
    with _messages(stack, "AlertsTopicArn") as read:
        yield read


@pytest.fixture
def events(stack: Stack) -> Iterator[Callable[[str], list[Any]]]:
    """What the order events topic said of an order since the test began."""
    with _messages(stack, "OrderEventsTopicArn") as read:
        yield read


@contextmanager
def _messages(stack: Stack, topic_output: str) -> Iterator[Callable[[str], list[Any]]]:
    sns, sqs = stack.client("sns"), stack.client("sqs")
    queue = sqs.create_queue(QueueName=f"listener-{uuid.uuid4().hex}")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    _let_topics_send(sqs, queue, arn)
    subscription = sns.subscribe(TopicArn=stack.outputs[topic_output], Protocol="sqs", Endpoint=arn)["SubscriptionArn"]

    def read(order_id: str) -> list[Any]:
        received = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages", [])
        bodies = [json.loads(json.loads(message["Body"])["Message"]) for message in received]
        return [body for body in bodies if body.get("order_id", body.get("import_id")) == order_id]

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
