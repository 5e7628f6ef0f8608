"""Conflicts of DynamoDB's transactions: the patch `transactions`, which is off by default.

What AWS documents is quoted from the DynamoDB developer guide [transactions] transaction-apis, and from the service's
model [model].
"""

import time
import uuid
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.kit.bounded import Threads
from tests.kit.ministack import TRANSACTION_SECONDS, Account, still_there

pytestmark = pytest.mark.local_only("are about the local stack itself")

TOKEN = "the table's name"


def table(account: Account) -> str:
    name = f"t-{uuid.uuid4().hex[:12]}"
    account.client("dynamodb").create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return name


def key(name: str) -> Any:
    return {"pk": {"S": name}}


def put(name: str) -> Any:
    return {"Put": {"Item": key(name)}}


def update(name: str) -> Any:
    return {
        "Update": {"Key": key(name), "UpdateExpression": "SET a = :a", "ExpressionAttributeValues": {":a": {"S": "b"}}}
    }


def check(name: str) -> Any:
    return {"ConditionCheck": {"Key": key(name), "ConditionExpression": "attribute_not_exists(pk)"}}


def transaction(*actions: Any, **more: Any) -> Any:
    """A request of several actions; the table name and a token are added when it is sent."""
    return "transact_write_items", {"TransactItems": list(actions), **more}


def sent(account: Account, name: str, request: Any) -> Any:
    """The response, or the error code with the codes of any cancellation reasons."""
    operation, parameters = request
    if "ClientRequestToken" in parameters:
        parameters = {**parameters, "ClientRequestToken": name}
    if "TransactItems" in parameters:
        actions = [
            {kind: {"TableName": name, **fields} for kind, fields in action.items()}
            for action in parameters["TransactItems"]
        ]
        parameters = {**parameters, "TransactItems": actions}
    else:
        parameters = {"TableName": name, **parameters}
    try:
        return getattr(account.client("dynamodb"), operation)(**parameters)
    except ClientError as error:
        reasons = [reason["Code"] for reason in error.response.get("CancellationReasons", [])]
        return (error.response["Error"]["Code"], *reasons)


@dataclass(frozen=True)
class Meeting:
    """Responses to a transaction that puts "a" and "b", and to a concurrent request. table: its name."""

    table: str
    first: Any
    answer: Any


def met(account: Account, request: Any) -> Meeting:
    """Send a request during a transaction; again if that may have been over on a busy machine.

    Raises TimeoutError.
    """
    actions = [put("a"), put("b"), put("probe")]
    for _ in range(10):
        name = table(account)
        with Threads(1) as pool:
            begun_after = asked = time.monotonic()
            first = pool.submit(sent, account, name, transaction(*actions, ClientRequestToken=TOKEN))
            while not first.done() and not isinstance(_probe(account, name), tuple):
                begun_after, asked = asked, time.monotonic()
            answer = sent(account, name, request)
            # A transaction that conflicts with nothing is answered at its end.
            free = request[0] == "transact_write_items" and not isinstance(answer, tuple)
            begun = time.monotonic() - (TRANSACTION_SECONDS if free else 0)
            if begun < begun_after + TRANSACTION_SECONDS:
                return Meeting(name, first.result(), answer)
    raise TimeoutError("no request met a transaction")


def _probe(account: Account, name: str) -> Any:
    """A conflict, once the transaction is ongoing."""
    return sent(account, name, ("put_item", {"Item": key("probe")}))


@dataclass(frozen=True)
class Case:
    """A request during a transaction, and the error; None for none. source: AWS's sentence."""

    source: str
    request: Any
    found: tuple[str, ...] | None


SINGLE = (
    "[transactions] A PutItem, UpdateItem, or DeleteItem request for an item conflicts with an ongoing"
    " TransactWriteItems request that includes the same item. [model, TransactionConflictException]"
    " Operation was rejected because there is an ongoing transaction for the item."
)
WRITE = (
    "[model, TransactionCanceledException] There is an ongoing TransactWriteItems operation that conflicts with a"
    " concurrent TransactWriteItems request."
)
READ = (
    "[model, TransactionCanceledException] There is an ongoing TransactGetItems operation that conflicts with a"
    " concurrent PutItem, UpdateItem, DeleteItem or TransactWriteItems request."
)
SAME = "[model, TransactionInProgressException] The transaction with the given request token is already in progress."
FREE = (
    "[transactions] A transactional conflict can occur during concurrent item-level requests on an item within a"
    " transaction."
)
CONFLICT, CANCELLED = "TransactionConflictException", "TransactionCanceledException"

CASES = {
    "put": Case(SINGLE, ("put_item", {"Item": key("a")}), (CONFLICT,)),
    "update": Case(SINGLE, ("update_item", {"Key": key("b")}), (CONFLICT,)),
    "delete": Case(SINGLE, ("delete_item", {"Key": key("a")}), (CONFLICT,)),
    "put of another": Case(FREE, ("put_item", {"Item": key("c")}), None),
    "get": Case(FREE, ("get_item", {"Key": key("a")}), None),
    "transaction": Case(WRITE, transaction(update("a")), (CANCELLED, "TransactionConflict")),
    "one of two": Case(WRITE, transaction(put("c"), put("b")), (CANCELLED, "None", "TransactionConflict")),
    "condition check": Case(WRITE, transaction(check("a"), put("c")), (CANCELLED, "TransactionConflict", "None")),
    "transaction of others": Case(FREE, transaction(put("c"), put("d")), None),
    "transactional read": Case(
        READ,
        ("transact_get_items", {"TransactItems": [{"Get": {"Key": key("a")}}]}),
        (CANCELLED, "TransactionConflict"),
    ),
    "the same token": Case(
        SAME,
        transaction(put("a"), put("b"), put("probe"), ClientRequestToken=TOKEN),
        ("TransactionInProgressException",),
    ),
}


def test_without_limits_transactions_do_not_conflict(ours: Account) -> None:
    name = table(ours)
    with Threads(8) as pool:
        answers = list(pool.map(lambda _: sent(ours, name, transaction(put("a"))), range(40)))
    assert [answer for answer in answers if isinstance(answer, tuple)] == [], still_there(
        "transactions", "TransactionConflict"
    )


@pytest.fixture(scope="module")
def meetings(limited: Account) -> dict[str, Future[Meeting]]:
    """Observations of all cases. Each waits most of the time, so each has its own thread."""
    pool = Threads(len(CASES))
    return {name: pool.submit(met, limited, case.request) for name, case in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_request_conflicts_with_an_ongoing_transaction(meetings: dict[str, Future[Meeting]], name: str) -> None:
    found = meetings[name].result()
    assert not isinstance(found.first, tuple), found.first
    assert (found.answer if isinstance(found.answer, tuple) else None) == CASES[name].found


# "TransactWriteItems is a synchronous and idempotent write operation" [transactions]: once it is answered, it is over.
def test_request_after_a_transaction_does_not_conflict(limited: Account) -> None:
    name = table(limited)
    for request in (transaction(put("a")), ("delete_item", {"Key": key("a")})):
        assert not isinstance(sent(limited, name, request), tuple)


# "Read-committed isolation ensures that read operations always return committed values for an item" [transactions]
def test_read_sees_nothing_of_an_ongoing_transaction(limited: Account) -> None:
    read = ("get_item", {"Key": key("a")})
    found = met(limited, read)
    assert "Item" not in found.answer
    assert "Item" in sent(limited, found.table, read)
