"""The step protocol against a DynamoDB over HTTP: what each call answers, and what stands in the tables afterwards."""

import hashlib
import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.config import Config
from botocore.exceptions import ReadTimeoutError
from botocore.httpsession import URLLib3Session
from hypothesis import given, settings
from hypothesis import strategies as st

from idempotency import (
    Action,
    Contention,
    IdempotencyError,
    PayloadMismatch,
    Refusal,
    StateConflict,
    Step,
    StepCompensated,
    StepStore,
    StoreUnavailable,
    TransientError,
)
from local import emulator
from local.stack import plain

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

type Document = Mapping[str, Any]
type Row = dict[str, Any] | None

AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
LATER = AT + timedelta(minutes=5)
LIFETIME = timedelta(days=30)

A: Document = {"seats": 2, "row": "C"}
B: Document = {"seats": 3, "row": "C"}
BOOKED: Document = {"booking": "b-1", "price": 4200, "note": "席", "open": None}


# --- the tables, and a saga with one step ---


@dataclass(frozen=True)
class Database:
    """Two empty tables: `records` for the step store, `bookings` for the business."""

    session: boto3.Session
    endpoint: str
    records: str
    bookings: str

    def client(self, *, attempts: int = 1) -> "DynamoDBClient":
        """attempts: how often the SDK itself sends a call whose answer does not come."""
        config = Config(retries={"total_max_attempts": attempts}, max_pool_connections=16)
        return self.session.client("dynamodb", endpoint_url=self.endpoint, config=config)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    run = uuid.uuid4().hex[:8]
    with emulator.attached() as started:
        tables = Database(session, started.endpoint, f"records-{run}", f"bookings-{run}")
        for name in (tables.records, tables.bookings):
            _create_table(tables.client(), name)
        yield tables


def _create_table(client: "DynamoDBClient", name: str) -> None:
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )


class Found(NamedTuple):
    """All rows of one saga at one moment. tally: how often T landed, and how often it was undone."""

    record: Row
    booking: Row
    tally: Row


@dataclass(frozen=True)
class Saga:
    """A saga with the one step BookSeats: T counts and inserts a booking, C counts and releases it.

    Counting has no condition, so a write that lands twice is seen.
    """

    database: Database
    client: "DynamoDBClient"
    id: str = field(default_factory=lambda: f"s-{uuid.uuid4().hex}")
    lifetime: timedelta = LIFETIME

    def commit(self, payload: Document = A, result: Document = BOOKED, *, owner: str = "t-1", at: datetime = AT) -> Any:
        """Run T."""
        return self._store.commit(self._step(payload, owner, at), self._writes(payload), result)

    def compensate(self, payload: Document = A, *, owner: str = "c-1", at: datetime = LATER) -> Any:
        """Run C."""
        return self._store.compensate(
            self._step(payload, owner, at),
            undo=[self._count("undone"), self._release()],
            absence=[{"ConditionCheck": self._booking() | {"ConditionExpression": "attribute_not_exists(pk)"}}],
        )

    def seal(self, *, at: datetime = LATER) -> None:
        """Bar C for ever, and count it."""
        self._store.seal(self.id, ["BookSeats"], [self._count("sealed")], at)

    @property
    def status(self) -> str | None:
        """What the step store says became of the step."""
        return self._store.statuses(self.id, ["BookSeats"])["BookSeats"]

    def found(self) -> Found:
        """Read everything, in one transaction of plain boto3."""
        keys = [(self.database.records, self.record_key)]
        keys += [(self.database.bookings, key) for key in (self.booking_key, self.tally_key)]
        gets: Any = [{"Get": {"TableName": table, "Key": {"pk": {"S": key}}}} for table, key in keys]
        items = [row.get("Item") for row in self.client.transact_get_items(TransactItems=gets)["Responses"]]
        return Found(*(plain(item) if item else None for item in items))

    def put_booking(self, **attributes: str) -> None:
        """Let a booking stand that no step has made."""
        item: Any = {"pk": {"S": self.booking_key}} | {name: {"S": value} for name, value in attributes.items()}
        self.client.put_item(TableName=self.database.bookings, Item=item)

    def delete_record(self) -> None:
        self.client.delete_item(TableName=self.database.records, Key={"pk": {"S": self.record_key}})

    def delete_booking(self) -> None:
        self.client.delete_item(TableName=self.database.bookings, Key={"pk": {"S": self.booking_key}})

    def through(self, client: "DynamoDBClient") -> "Saga":
        """The same saga, called by way of another client."""
        return Saga(self.database, client, self.id, self.lifetime)

    @property
    def record_key(self) -> str:
        return f"{self.id}#BookSeats"

    @property
    def booking_key(self) -> str:
        return f"BOOKING#{self.id}"

    @property
    def tally_key(self) -> str:
        return f"TALLY#{self.id}"

    @property
    def _store(self) -> StepStore:
        return StepStore(self.client, self.database.records, lifetime=self.lifetime)

    def _step(self, payload: Document, owner: str, at: datetime) -> Step:
        return Step(self.id, "BookSeats", payload, owner, at)

    def _writes(self, payload: Document) -> list[Action]:
        booking = {"pk": self.booking_key, "status": "Booked", "payload": json.dumps(payload)}
        put = {
            "TableName": self.database.bookings,
            "Item": {name: {"S": value} for name, value in booking.items()},
            "ConditionExpression": "attribute_not_exists(pk)",
        }
        return [self._count("landed"), {"Put": put}]

    def _release(self) -> Action:
        update = self._booking() | {
            "UpdateExpression": "SET #status = :released",
            "ConditionExpression": "#status = :booked",
            "ExpressionAttributeNames": {"#status": "status"},
            "ExpressionAttributeValues": {":booked": {"S": "Booked"}, ":released": {"S": "Released"}},
        }
        return {"Update": update}

    def _count(self, what: Literal["landed", "undone", "sealed"]) -> Action:
        update = {
            "TableName": self.database.bookings,
            "Key": {"pk": {"S": self.tally_key}},
            "UpdateExpression": f"ADD {what} :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        return {"Update": update}

    def _booking(self) -> dict[str, Any]:
        return {"TableName": self.database.bookings, "Key": {"pk": {"S": self.booking_key}}}


@pytest.fixture
def saga(database: Database) -> Saga:
    """A saga of the test's own."""
    return Saga(database, database.client())


def _hash(canonical_json: str) -> str:
    return hashlib.sha256(canonical_json.encode()).hexdigest()


def _booked(saga: Saga, *, landed: int = 1) -> tuple[Row, Row]:
    """Booking and tally after T."""
    booking = {"pk": saga.booking_key, "status": "Booked", "payload": json.dumps(A)}
    return booking, {"pk": saga.tally_key, "landed": landed}


def _epoch(moment: datetime) -> int:
    return int(moment.timestamp())


# --- faults on the way to DynamoDB ---


class ProcessDied(BaseException):
    """The process ends here: no `except Exception` sees it."""


@dataclass
class Wire:
    """Sits where a client sends: counts what goes out, and brings a fault to one call, numbered from 1.

    lose: the call that is carried out, and whose answer never arrives.
    die: the call that the process does not live to send.
    meanwhile: what others do just before a call goes out.
    """

    lose: int = 0
    die: int = 0
    meanwhile: Mapping[int, Callable[[], Any]] = field(default_factory=dict)
    sent: int = 0

    def attach(self, client: "DynamoDBClient") -> "DynamoDBClient":
        client.meta.events.register("before-send.dynamodb", self.before_send)
        return client

    def befall(self, call: "Call") -> None:
        """Begin anew, with the fault of a call."""
        self.sent = 0
        self.lose = call.nth if call.fault == "lose" else 0
        self.die = call.nth if call.fault == "die" else 0

    def before_send(self, request: AWSPreparedRequest, **_: Any) -> None:
        self.sent += 1
        if self.sent == self.die:
            raise ProcessDied
        self.meanwhile.get(self.sent, lambda: None)()
        if self.sent == self.lose:
            URLLib3Session().send(request)
            raise ReadTimeoutError(endpoint_url=request.url)


def _on(wire: Wire, saga: Saga, *, attempts: int = 1) -> Saga:
    """The same saga, called over a wire of its own."""
    return saga.through(wire.attach(saga.database.client(attempts=attempts)))


# --- T, no record ---


def test_the_first_t_answers_its_result_and_books_once(saga: Saga) -> None:
    assert saga.commit() == BOOKED
    assert saga.found()[1:] == _booked(saga)


def test_the_first_t_leaves_a_record_that_says_what_was_done_by_whom_and_until_when(saga: Saga) -> None:
    saga.commit(A, {"price": 1, "booking": "b-2"}, owner="request-7")
    assert saga.found().record == {
        "pk": saga.record_key,
        "status": "COMMITTED",
        "result": '{"booking":"b-2","price":1}',
        "payload_hash": _hash('{"row":"C","seats":2}'),
        "owner": "request-7",
        "created_at": "2026-11-21T09:30:00+00:00",
        "updated_at": "2026-11-21T09:30:00+00:00",
        "expires_at": _epoch(AT + LIFETIME),
    }


def test_a_refused_write_is_named_with_the_row_that_stands_there_and_nothing_is_written(saga: Saga) -> None:
    saga.put_booking(status="Booked", payload="of another")
    before = saga.found()
    with pytest.raises(StateConflict, match=r"BookSeats: not in the expected state: bookings-") as refused:
        saga.commit()
    there = {"pk": {"S": saga.booking_key}, "status": {"S": "Booked"}, "payload": {"S": "of another"}}
    assert refused.value.refusals == (Refusal(1, there),)
    assert saga.found() == before == (None, {"pk": saga.booking_key, "status": "Booked", "payload": "of another"}, None)


def test_a_t_that_was_refused_may_land_once_the_row_is_gone(saga: Saga) -> None:
    saga.put_booking(status="Booked")
    with pytest.raises(StateConflict):
        saga.commit()
    saga.delete_booking()
    assert saga.commit() == BOOKED
    assert saga.found()[1:] == _booked(saga)


# --- T, COMMITTED ---


def test_a_duplicate_t_is_answered_the_stored_result_and_writes_nothing(saga: Saga) -> None:
    first = saga.commit()
    before = saga.found()
    assert saga.commit(owner="t-2", at=LATER) == first
    assert saga.found() == before


def test_a_duplicate_t_warns_exactly_once_and_names_the_first_owner(
    saga: Saga, caplog: pytest.LogCaptureFixture
) -> None:
    saga.commit(owner="t-1")
    assert not caplog.records
    saga.commit(owner="t-2")
    (line,) = caplog.records
    assert (line.levelno, line.getMessage()) == (logging.WARNING, "duplicate call: the stored result is returned")
    assert (line.__dict__["step"], line.__dict__["owner"]) == (saga.record_key, "t-2")
    assert line.__dict__["first_owner"] == "t-1"


def test_a_duplicate_after_another_deployment_is_answered_as_the_first_call_was(saga: Saga) -> None:
    saga.commit(A, BOOKED)
    before = saga.found()
    assert saga.commit(A, {"answer": "of the next version"}) == BOOKED
    assert saga.found() == before


def test_the_order_of_a_payloads_keys_makes_no_other_request(saga: Saga) -> None:
    saga.commit({"seats": 2, "row": "C"})
    assert saga.commit({"row": "C", "seats": 2}) == BOOKED


def test_t_with_another_payload_is_refused_and_writes_nothing(saga: Saga) -> None:
    saga.commit(A)
    before = saga.found()
    with pytest.raises(PayloadMismatch, match=saga.record_key):
        saga.commit(B)
    assert saga.found() == before


# --- T, COMPENSATED ---


@pytest.mark.parametrize("payload", [A, B], ids=["same payload", "other payload"])
@pytest.mark.parametrize("happened", [True, False], ids=["undone", "barred"])
def test_a_late_t_does_not_land_any_more(saga: Saga, happened: bool, payload: Document) -> None:
    if happened:
        saga.commit(A)
    saga.compensate(A)
    before = saga.found()
    with pytest.raises(StepCompensated, match=saga.record_key):
        saga.commit(payload)
    assert saga.found() == before


# --- C, COMMITTED ---


def test_c_undoes_what_t_wrote_and_says_so(saga: Saga) -> None:
    saga.commit()
    assert saga.compensate() == {"undone": True}
    _, booking, tally = saga.found()
    assert booking == {"pk": saga.booking_key, "status": "Released", "payload": json.dumps(A)}
    assert tally == {"pk": saga.tally_key, "landed": 1, "undone": 1}


def test_the_record_of_an_undone_step_keeps_its_beginning_and_lives_on_from_the_end(saga: Saga) -> None:
    saga.commit(owner="t-1", at=AT)
    saga.compensate(owner="c-1", at=LATER)
    assert saga.found().record == {
        "pk": saga.record_key,
        "status": "COMPENSATED",
        "result": '{"undone":true}',
        "payload_hash": _hash('{"row":"C","seats":2}'),
        "owner": "c-1",
        "created_at": "2026-11-21T09:30:00+00:00",
        "updated_at": "2026-11-21T09:35:00+00:00",
        "expires_at": _epoch(LATER + LIFETIME),
    }


def test_c_with_another_payload_is_refused_and_undoes_nothing(saga: Saga) -> None:
    saga.commit(A)
    before = saga.found()
    with pytest.raises(PayloadMismatch, match=saga.record_key):
        saga.compensate(B)
    assert saga.found() == before


def test_c_does_not_pass_over_a_booking_that_is_gone(saga: Saga) -> None:
    saga.commit()
    saga.delete_booking()
    before = saga.found()
    with pytest.raises(StateConflict) as refused:
        saga.compensate()
    assert refused.value.refusals == (Refusal(1, None),)
    assert saga.found() == before


def test_c_does_not_undo_a_booking_that_someone_else_has_released(saga: Saga) -> None:
    saga.commit()
    saga.put_booking(status="Released")
    before = saga.found()
    with pytest.raises(StateConflict) as refused:
        saga.compensate()
    there = {"pk": {"S": saga.booking_key}, "status": {"S": "Released"}}
    assert refused.value.refusals == (Refusal(1, there),)
    assert saga.found() == before


# --- C, no record ---


def test_c_without_t_leaves_a_tombstone_and_says_that_nothing_was_undone(saga: Saga) -> None:
    assert saga.compensate(owner="c-1", at=LATER) == {"undone": False}
    tombstone = {
        "pk": saga.record_key,
        "status": "COMPENSATED",
        "result": '{"undone":false}',
        "payload_hash": _hash('{"row":"C","seats":2}'),
        "owner": "c-1",
        "created_at": "2026-11-21T09:35:00+00:00",
        "updated_at": "2026-11-21T09:35:00+00:00",
        "expires_at": _epoch(LATER + LIFETIME),
    }
    assert saga.found() == (tombstone, None, None)


def test_a_lost_record_does_not_pass_for_nothing_to_undo(saga: Saga) -> None:
    saga.commit()
    saga.delete_record()
    before = saga.found()
    with pytest.raises(StateConflict, match=saga.booking_key) as refused:
        saga.compensate()
    (refusal,) = refused.value.refusals
    assert (refusal.index, plain(refusal.item or {})) == (0, before.booking)
    assert saga.found() == before
    assert before.record is None


# --- C, COMPENSATED ---


@pytest.mark.parametrize("payload", [A, B], ids=["same payload", "other payload"])
@pytest.mark.parametrize("happened", [True, False], ids=["undone", "barred"])
def test_a_duplicate_c_is_answered_the_same_and_writes_nothing(saga: Saga, happened: bool, payload: Document) -> None:
    if happened:
        saga.commit(A)
    saga.compensate(A)
    before = saga.found()
    assert saga.compensate(payload, owner="c-2", at=LATER + timedelta(days=1)) == {"undone": happened}
    assert saga.found() == before


def test_a_duplicate_c_warns_exactly_once_and_names_the_first_owner(
    saga: Saga, caplog: pytest.LogCaptureFixture
) -> None:
    saga.commit(owner="t-1")
    saga.compensate(owner="c-1")
    assert not caplog.records
    saga.compensate(owner="c-2")
    (line,) = caplog.records
    message = "duplicate compensation: the stored result is returned"
    assert (line.levelno, line.getMessage()) == (logging.WARNING, message)
    assert (line.__dict__["step"], line.__dict__["owner"]) == (saga.record_key, "c-2")
    assert line.__dict__["first_owner"] == "c-1"


# --- a record that has expired but is not deleted yet ---


def test_a_sealed_step_is_not_undone_any_more(saga: Saga) -> None:
    saga.commit()
    saga.seal()
    before = saga.found()
    with pytest.raises(StateConflict, match="has succeeded"):
        saga.compensate()
    assert saga.found() == before
    assert before.tally is not None
    assert before.tally["sealed"] == 1


def test_a_sealed_step_still_answers_a_duplicate_t(saga: Saga) -> None:
    first = saga.commit()
    saga.seal()
    assert saga.commit() == first
    assert saga.status == "COMMITTED"


@pytest.mark.parametrize("undone", [True, False], ids=["undone", "never happened"])
def test_a_step_that_does_not_stand_is_not_sealed_and_nothing_is_written(saga: Saga, undone: bool) -> None:
    if undone:
        saga.commit()
        saga.compensate()
    before = saga.found()
    with pytest.raises(StateConflict) as refused:
        saga.seal()
    assert [refusal.index for refusal in refused.value.refusals] == [0]
    assert saga.found() == before


def test_the_status_of_a_step_is_that_of_its_record(saga: Saga) -> None:
    assert saga.status is None
    saga.commit()
    assert saga.status == "COMMITTED"
    saga.compensate()
    assert saga.status == "COMPENSATED"


@pytest.fixture
def expiring(database: Database) -> Saga:
    """A saga whose records have expired when they are written."""
    saga = Saga(database, database.client(), lifetime=timedelta(days=-1))
    saga.commit()
    record = saga.found().record
    assert record is not None
    assert record["expires_at"] == _epoch(AT - timedelta(days=1)) < time.time()
    return saga


def test_an_expired_record_still_answers_a_duplicate(expiring: Saga) -> None:
    before = expiring.found()
    assert expiring.commit(result={"answer": "a new one"}) == BOOKED
    assert expiring.found() == before


def test_an_expired_record_still_tells_a_reused_id(expiring: Saga) -> None:
    with pytest.raises(PayloadMismatch):
        expiring.commit(B)


def test_an_expired_record_still_tells_what_to_undo(expiring: Saga) -> None:
    assert expiring.compensate() == {"undone": True}
    assert (expiring.found().booking or {})["status"] == "Released"


def test_an_expired_tombstone_still_bars_a_late_t(expiring: Saga) -> None:
    expiring.compensate()
    with pytest.raises(StepCompensated):
        expiring.commit()


# --- calls on the wire ---


def test_a_first_t_is_one_call(saga: Saga) -> None:
    wire = Wire()
    _on(wire, saga).commit()
    assert wire.sent == 1


def test_a_duplicate_t_is_one_call(saga: Saga) -> None:
    saga.commit()
    wire = Wire()
    _on(wire, saga).commit()
    assert wire.sent == 1


def test_a_compensation_is_one_call(saga: Saga) -> None:
    saga.commit()
    wire = Wire()
    _on(wire, saga).compensate()
    assert wire.sent == 1


def test_a_tombstone_is_two_calls(saga: Saga) -> None:
    wire = Wire()
    _on(wire, saga).compensate()
    assert wire.sent == 2


@pytest.mark.parametrize("happened", [True, False], ids=["undone", "barred"])
def test_a_duplicate_compensation_is_one_call(saga: Saga, happened: bool) -> None:
    if happened:
        saga.commit()
    saga.compensate()
    wire = Wire()
    _on(wire, saga).compensate()
    assert wire.sent == 1


# --- lost answers ---


def test_a_t_whose_answer_is_lost_has_landed_and_its_repetition_says_so(saga: Saga) -> None:
    with pytest.raises(StoreUnavailable, match="ReadTimeoutError"):
        _on(Wire(lose=1), saga).commit()
    assert saga.found()[1:] == _booked(saga)
    assert saga.commit(result={"answer": "a new one"}) == BOOKED
    assert saga.found()[1:] == _booked(saga)


def test_a_c_whose_answer_is_lost_has_undone_and_its_repetition_says_so(saga: Saga) -> None:
    saga.commit()
    with pytest.raises(StoreUnavailable):
        _on(Wire(lose=1), saga).compensate()
    assert saga.compensate() == {"undone": True}
    assert (saga.found().tally or {})["undone"] == 1


def test_a_tombstone_whose_answer_is_lost_bars_all_the_same(saga: Saga) -> None:
    with pytest.raises(StoreUnavailable):
        _on(Wire(lose=2), saga).compensate()
    with pytest.raises(StepCompensated):
        saga.commit()
    assert saga.compensate() == {"undone": False}


def test_what_the_sdk_sends_again_by_itself_is_no_duplicate(saga: Saga, caplog: pytest.LogCaptureFixture) -> None:
    wire = Wire(lose=1)
    assert _on(wire, saga, attempts=2).commit() == BOOKED
    assert wire.sent == 2
    assert saga.found()[1:] == _booked(saga)
    assert not [line for line in caplog.records if line.name.startswith("idempotency")]


# --- several at once ---


def test_a_t_that_lands_between_the_two_calls_of_c_is_undone(saga: Saga) -> None:
    wire = Wire(meanwhile={2: saga.commit})
    assert _on(wire, saga).compensate() == {"undone": True}
    assert wire.sent == 3
    assert (saga.found().tally or {}) == {"pk": saga.tally_key, "landed": 1, "undone": 1}


def test_a_c_that_comes_in_between_the_two_calls_of_another_has_said_what_both_say(saga: Saga) -> None:
    wire = Wire(meanwhile={2: lambda: saga.compensate(owner="c-1")})
    assert _on(wire, saga).compensate(owner="c-2") == {"undone": False}
    assert wire.sent == 3
    assert (saga.found().record or {})["owner"] == "c-1"


def test_a_c_that_loses_every_round_to_others_asks_to_be_repeated(saga: Saga) -> None:
    def come() -> None:
        saga.delete_booking()
        saga.commit()

    wire = Wire(meanwhile={2: come, 3: saga.delete_record, 4: come, 5: saga.delete_record, 6: come})
    with pytest.raises(Contention, match=saga.record_key):
        _on(wire, saga).compensate()
    assert wire.sent == 6
    assert "undone" not in (saga.found().tally or {})
    assert saga.compensate() == {"undone": True}


def _until_decided(call: Callable[[], Any]) -> Any:
    """Repeat what is transient, as a state machine does."""
    for _ in range(20):
        try:
            return call()
        except TransientError:
            time.sleep(0.01)
    raise AssertionError("still undecided after 20 calls")


def _at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What each call answers, or the error that it raises, when all of them begin at the same moment."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        start.wait()
        try:
            return _until_decided(call)
        except IdempotencyError as error:
            return error

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def test_of_eight_ts_at_once_one_lands_and_all_are_answered_its_result(saga: Saga) -> None:
    calls = [lambda number=number: saga.commit(result={"booking": number}) for number in range(8)]
    answers = _at_once(*calls)
    record, *rest = saga.found()
    assert tuple(rest) == _booked(saga)
    assert answers == [json.loads((record or {})["result"])] * 8


def test_of_eight_cs_at_once_one_undoes_and_all_say_so(saga: Saga) -> None:
    saga.commit()
    assert _at_once(*[saga.compensate] * 8) == [{"undone": True}] * 8
    assert saga.found().tally == {"pk": saga.tally_key, "landed": 1, "undone": 1}


def test_of_two_different_requests_at_once_one_lands_and_the_other_is_refused(saga: Saga) -> None:
    answers = _at_once(*[lambda: saga.commit(A), lambda: saga.commit(B)] * 4)
    landed = json.loads((saga.found().booking or {})["payload"])
    mine = answers[0 if landed == A else 1 :: 2]
    others = answers[1 if landed == A else 0 :: 2]
    assert mine == [BOOKED] * 4
    assert [type(answer) for answer in others] == [PayloadMismatch] * 4
    assert (saga.found().tally or {})["landed"] == 1


def test_a_race_of_t_and_c_ends_undone_or_never_landed(saga: Saga) -> None:
    for number in range(60):
        race = Saga(saga.database, saga.client, f"{saga.id}-{number}")
        booked, undone = _at_once(race.commit, race.compensate)
        record, booking, tally = race.found()
        assert (record or {})["status"] == "COMPENSATED"
        if undone == {"undone": True}:
            assert booked == BOOKED
            assert (booking or {})["status"] == "Released"
            assert tally == {"pk": race.tally_key, "landed": 1, "undone": 1}
        else:
            assert undone == {"undone": False}
            assert isinstance(booked, StepCompensated)
            assert (booking, tally) == (None, None)


# --- any calls, in any order, with any fault ---


@dataclass(frozen=True)
class Call:
    """One call of T or C. fault: what befalls its n-th call to DynamoDB, if it comes to that one."""

    kind: Literal["T", "C"]
    payload: Literal["a", "b"]
    fault: Literal["none", "lose", "die"]
    nth: Literal[1, 2]


@dataclass(frozen=True)
class Model:
    """What the protocol remembers of a step."""

    status: str | None = None
    payload: str = ""
    result: Any = None


class Expected(NamedTuple):
    """What a call without a fault answers (or the class that it raises), what is then, and in how many calls."""

    answer: Any
    after: Model
    calls: int = 1


def _without_fault(model: Model, call: Call, result: Document) -> Expected:
    match call.kind, model.status:
        case "T", None:
            return Expected(result, Model("COMMITTED", call.payload, result))
        case "C", None:
            return Expected({"undone": False}, Model("COMPENSATED", call.payload, {"undone": False}), calls=2)
        case "T", "COMPENSATED":
            return Expected(StepCompensated, model)
        case "C", "COMPENSATED":
            return Expected(model.result, model)
        case _ if call.payload != model.payload:
            return Expected(PayloadMismatch, model)
        case "T", _:
            return Expected(model.result, model)
    return Expected({"undone": True}, Model("COMPENSATED", call.payload, {"undone": True}))


def _expected(model: Model, call: Call, result: Document) -> Expected:
    expected = _without_fault(model, call, result)
    if call.fault == "none" or call.nth > expected.calls:
        return expected
    if call.fault == "die":
        return Expected(ProcessDied, model)
    return Expected(StoreUnavailable, expected.after if call.nth == expected.calls else model)


def _answer(saga: Saga, call: Call, result: Document) -> Any:
    payload = {"request": call.payload}
    try:
        return saga.commit(payload, result) if call.kind == "T" else saga.compensate(payload)
    except (IdempotencyError, ProcessDied) as error:
        return type(error)


_calls = st.builds(
    Call,
    kind=st.sampled_from(["T", "C"]),
    payload=st.sampled_from(["a", "a", "a", "b"]),
    fault=st.sampled_from(["none", "none", "lose", "die"]),
    nth=st.sampled_from([1, 2]),
)


@settings(deadline=None, max_examples=60)
@given(calls=st.lists(_calls, min_size=1, max_size=8))
def test_every_call_in_every_history_answers_as_the_model_says(database: Database, calls: list[Call]) -> None:
    model, saga, wire = Model(), Saga(database, database.client()), Wire()
    faulty = _on(wire, saga)
    for number, call in enumerate(calls):
        result = {"call": number}
        answer, model, _ = _expected(model, call, result)
        wire.befall(call)
        assert _answer(faulty, call, result) == answer
        _assert_stands(saga.found(), model)


def _assert_stands(found: Found, model: Model) -> None:
    record, booking, tally = found
    assert (record or {}).get("status") == model.status
    assert ((booking or {}).get("status") == "Booked") == (model.status == "COMMITTED")
    assert (tally or {}).get("landed", 0) <= 1
    assert (tally or {}).get("undone", 0) == (model.result == {"undone": True})
