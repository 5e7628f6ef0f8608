"""The layer's reaction to DynamoDB's answer to a transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore import exceptions as sdk

from idempotency import Contention, Refusal, StoreUnavailable
from idempotency.dynamodb import Action, Cancellation, read_rows, read_snapshot, transact

RECORD: Action = {"Put": {"TableName": "Idempotency"}}
ROW: Action = {"Update": {"TableName": "Stock"}}
ACTIONS = [RECORD, ROW, ROW]
OLD = {"pk": {"S": "o-1001#ProcessOrder"}}

FINE = {"Code": "None"}
REFUSED = {"Code": "ConditionalCheckFailed"}
CONFLICT = {"Code": "TransactionConflict"}
THROTTLED = {"Code": "ThrottlingError"}
OVER_CAPACITY = {"Code": "ProvisionedThroughputExceeded"}
MALFORMED = {"Code": "ValidationError"}


@dataclass
class Answering:
    """A client that accepts every transaction, or raises the error."""

    error: Exception | None = None
    sent: list[Any] = field(default_factory=list)

    def transact_write_items(self, *, TransactItems: Any) -> Any:
        self.sent.append(TransactItems)
        if self.error:
            raise self.error
        return {}


def client_error(code: str, status: int = 400, **more: Any) -> sdk.ClientError:
    return sdk.ClientError(
        {"Error": {"Code": code, "Message": code}, "ResponseMetadata": {"HTTPStatusCode": status}, **more},
        "TransactWriteItems",
    )


def cancelled(*reasons: Mapping[str, Any]) -> Cancellation | None:
    """The outcome of a transaction that DynamoDB cancels for these reasons, one for each action."""
    error = client_error("TransactionCanceledException", CancellationReasons=list(reasons))
    return transact(Answering(error), ACTIONS)


def failed(error: Exception) -> Cancellation | None:
    return transact(Answering(error), ACTIONS)


def test_successful_transaction_has_no_cancellation() -> None:
    assert transact(Answering(), ACTIONS) is None


def test_all_actions_go_out_in_one_call_and_request_the_old_row() -> None:
    client = Answering()

    transact(client, [RECORD, ROW])

    ask = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    assert client.sent == [[{"Put": {"TableName": "Idempotency", **ask}}, {"Update": {"TableName": "Stock", **ask}}]]


def test_failed_condition_returns_the_existing_row() -> None:
    assert cancelled(FINE, {**REFUSED, "Item": OLD}, FINE) == Cancellation({1: Refusal(1, OLD)})


def test_failed_condition_without_a_row_returns_none() -> None:
    assert cancelled(FINE, FINE, REFUSED) == Cancellation({2: Refusal(2, None)})


def test_every_failed_condition_returns_its_row() -> None:
    assert cancelled(FINE, REFUSED, REFUSED) == Cancellation({1: Refusal(1, None), 2: Refusal(2, None)})


@pytest.mark.parametrize("beside", [CONFLICT, THROTTLED, MALFORMED], ids=lambda reason: reason["Code"])
def test_failed_condition_on_the_record_decides(beside: Mapping[str, Any]) -> None:
    assert cancelled({**REFUSED, "Item": OLD}, beside, FINE) == Cancellation({0: Refusal(0, OLD)})


@pytest.mark.parametrize("reasons", [(CONFLICT, FINE, FINE), (FINE, CONFLICT, FINE), (CONFLICT, CONFLICT, CONFLICT)])
def test_conflict_is_contention(reasons: tuple[Mapping[str, Any], ...]) -> None:
    with pytest.raises(Contention):
        cancelled(*reasons)


@pytest.mark.parametrize("conflict_at", [0, 2])
def test_failed_row_beside_a_conflict_decides_nothing(conflict_at: int) -> None:
    reasons = [FINE, REFUSED, FINE]
    reasons[conflict_at] = CONFLICT

    with pytest.raises(Contention):
        cancelled(*reasons)


@pytest.mark.parametrize("reason", [THROTTLED, OVER_CAPACITY], ids=lambda reason: reason["Code"])
def test_failed_row_beside_a_throttled_one_decides_nothing(reason: Mapping[str, Any]) -> None:
    with pytest.raises(StoreUnavailable, match=reason["Code"]):
        cancelled(FINE, REFUSED, reason)


def test_malformed_action_beside_a_failed_condition_is_raised_unchanged() -> None:
    with pytest.raises(sdk.ClientError) as caught:
        cancelled(FINE, REFUSED, MALFORMED)

    assert caught.value.response["CancellationReasons"][2] == MALFORMED


def test_cancellation_without_a_reason_is_raised_unchanged() -> None:
    with pytest.raises(sdk.ClientError, match="TransactionCanceledException"):
        cancelled(FINE, FINE, FINE)


@pytest.mark.parametrize("code", ["TransactionInProgressException", "TransactionConflictException"])
def test_concurrent_transaction_is_contention(code: str) -> None:
    with pytest.raises(Contention, match=code):
        failed(client_error(code))


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("ThrottlingException", 400),
        ("ProvisionedThroughputExceededException", 400),
        ("RequestLimitExceeded", 400),
        ("InternalServerError", 500),
        ("ServiceUnavailable", 503),
        ("502", 502),
    ],
)
def test_failing_store_is_unavailable(code: str, status: int) -> None:
    with pytest.raises(StoreUnavailable, match=code):
        failed(client_error(code, status))


@pytest.mark.parametrize(
    "error",
    [
        sdk.ConnectTimeoutError(endpoint_url="https://dynamodb"),
        sdk.EndpointConnectionError(endpoint_url="https://dynamodb"),
        sdk.SSLError(endpoint_url="https://dynamodb", error="handshake"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_unreachable_store_is_unavailable(error: Exception) -> None:
    with pytest.raises(StoreUnavailable, match=type(error).__name__):
        failed(error)


@pytest.mark.parametrize(
    "error",
    [
        sdk.ReadTimeoutError(endpoint_url="https://dynamodb"),
        sdk.ConnectionClosedError(endpoint_url="https://dynamodb"),
        sdk.HTTPClientError(error="broken pipe"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_lost_answer_is_store_unavailable(error: Exception) -> None:
    with pytest.raises(StoreUnavailable, match=type(error).__name__):
        failed(error)


@pytest.mark.parametrize(
    "error",
    [
        client_error("AccessDeniedException"),
        client_error("ValidationException"),
        client_error("ResourceNotFoundException"),
        client_error("IdempotentParameterMismatchException"),
        sdk.ParamValidationError(report="Missing required parameter"),
        sdk.NoCredentialsError(),
        KeyError("a defect"),
    ],
    ids=repr,
)
def test_permanent_error_is_raised_unchanged(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        failed(error)

    assert caught.value is error


@dataclass
class Rows:
    """A client that reads these rows, or some of them."""

    found: Mapping[str, Any]
    unprocessed: Mapping[str, Any] = field(default_factory=dict)

    def batch_get_item(self, *, RequestItems: Any) -> Any:
        self.asked = RequestItems
        return {"Responses": self.found, "UnprocessedKeys": self.unprocessed}


def test_rows_are_returned_in_the_requested_order() -> None:
    first, second = ({"pk": {"S": "p"}, "sk": {"S": sk}, "n": {"N": "1"}} for sk in "ab")
    client: Any = Rows({"t": [second, first]})
    keys = [{"pk": "p", "sk": sk} for sk in "acb"]

    assert read_rows(client, [("t", key) for key in keys]) == [first, None, second]
    assert client.asked["t"]["ConsistentRead"] is True


def test_unread_rows_are_not_mistaken_for_missing_ones() -> None:
    client: Any = Rows({}, {"t": {"Keys": []}})

    with pytest.raises(StoreUnavailable):
        read_rows(client, [("t", {"pk": "p"})])


class Snapshots:
    """A client that answers with these responses, or this error."""

    def __init__(self, *responses: Mapping[str, Any], error: Exception | None = None) -> None:
        self.responses, self.error = list(responses), error
        self.asked: Any = None

    def transact_get_items(self, *, TransactItems: Any) -> Any:
        self.asked = TransactItems
        if self.error:
            raise self.error
        return {"Responses": self.responses}


def test_consistent_rows_are_read_in_one_transaction() -> None:
    found = {"pk": {"S": "p"}, "n": {"N": "1"}}
    client: Any = Snapshots({"Item": found}, {})

    assert read_snapshot(client, [("t", {"pk": "p"}), ("t", {"pk": "q"})]) == [found, None]
    assert client.asked[0] == {"Get": {"TableName": "t", "Key": {"pk": {"S": "p"}}}}


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (client_error("TransactionCanceledException", CancellationReasons=[FINE, CONFLICT]), Contention),
        (client_error("ProvisionedThroughputExceededException"), StoreUnavailable),
        (client_error("ValidationException"), sdk.ClientError),
    ],
)
def test_failed_snapshot_says_why(error: Exception, raised: type[Exception]) -> None:
    client: Any = Snapshots(error=error)

    with pytest.raises(raised):
        read_snapshot(client, [("t", {"pk": "p"})])


def test_sdk_error_stays_the_cause() -> None:
    error = client_error("ThrottlingException")

    with pytest.raises(StoreUnavailable) as caught:
        failed(error)

    assert caught.value.__cause__ is error
