"""An approval from its request to its end: each race and each loss, one call at a time."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from msgspec import structs

from approvals.callbacks import Callbacks
from approvals.errors import (
    AlreadyDecided,
    ApprovalCancelled,
    ApprovalExpired,
    ApprovalNotFound,
    InvalidApproval,
    InvalidDecision,
    OwnRequest,
    SubjectClosed,
)
from approvals.recovery import MAX_LOOKED_AT
from approvals.requests import parse_request
from idempotency import Contention, PayloadMismatch
from runtime.sweep import SweepUnfinished
from tests.kit.approvals import ARN, DUE_SECONDS, ApprovalWorld
from tests.kit.commands import new_tables
from tests.kit.project import ROOT, read_json

ID = "account-opening.a-1.review"
SECRET = "what only the record may say"


def answers(world: ApprovalWorld) -> list[object]:
    return [json.loads(output) for _, output in world.states.answered]


def test_record_and_token_are_written_together(world: ApprovalWorld) -> None:
    token = world.states.wait()

    assert world.ask(token) == {"approval_id": ID, "status": "WAITING"}

    assert [one.id for one in world.table.waiting("reviewers")] == [ID]
    assert list(world.table.waiting("others")) == []
    assert world.tokens == [token]
    assert [token in str(row) for row in world.rows() if "status" in row] == [False]


@pytest.mark.parametrize(("decision", "status"), [("approve", "APPROVED"), ("reject", "REJECTED")])
def test_decision_is_written_once_and_reaches_the_state(world: ApprovalWorld, decision: str, status: str) -> None:
    world.ask()

    assert world.decide(decision, comment=SECRET) == status
    assert world.send()

    assert answers(world) == [{"decision": decision, "decided_by": "ann", "approval_id": ID}]
    values = world.approval.values
    assert (values["status"], values["decided_by"], values["comment"], values["took_effect"]) == (
        status,
        "ann",
        SECRET,
        True,
    )
    assert world.tokens == []
    assert not list(world.table.waiting())
    assert not world.table.owed()


def test_repeated_decision_keeps_the_first_and_another_is_rejected(world: ApprovalWorld) -> None:
    world.ask()
    world.decide("approve", comment="first")
    before = world.approval

    assert world.decide("approve", by="bob", comment="second") == "APPROVED"
    with pytest.raises(AlreadyDecided, match=f"^{ID}: is APPROVED since"):
        world.decide("reject")

    assert world.approval == before


@pytest.mark.parametrize("by", ["Ann O'Hara", "ann ohara", "O\u2019HARA, Ann", "\uff21nn\u200b O\u0301hara"])
def test_nobody_decides_their_own_request_in_any_spelling(world: ApprovalWorld, by: str) -> None:
    world.ask(requested_by="Ann O'Hara")
    before = world.approval

    for decision in ("approve", "reject"):
        with pytest.raises(OwnRequest, match=f"^{ID}: "):
            world.decide(decision, by)
    assert world.approval == before
    assert world.decide("approve", "Ann O'Harry") == "APPROVED"
    # The stored answer, and nothing else.
    assert world.decide("approve", by) == "APPROVED"
    with pytest.raises(AlreadyDecided):
        world.decide("reject", by)


@pytest.mark.parametrize(("requested_by", "by", "same"), [("\U0001f642", "\U0001f642", True), ("-", "--", False)])
def test_names_without_letters_are_compared_by_their_characters(
    world: ApprovalWorld, requested_by: str, by: str, same: bool
) -> None:
    world.ask(requested_by=requested_by)

    if same:
        with pytest.raises(OwnRequest):
            world.decide("approve", by)
    else:
        assert world.decide("approve", by) == "APPROVED"


def test_approval_may_waive_four_eyes(world: ApprovalWorld) -> None:
    world.ask(requested_by="ann", four_eyes=False)

    assert world.decide("approve", "ann") == "APPROVED"


def test_record_of_an_earlier_release_has_four_eyes_and_accepts_its_state(world: ApprovalWorld) -> None:
    world.ask(requested_by="ann")
    key = {"approval_id": {"S": ID}}
    world.client.update_item(TableName=world.table.name, Key=key, UpdateExpression="REMOVE four_eyes")

    with pytest.raises(OwnRequest):
        world.decide("approve", "Ann")
    assert world.ask(requested_by="ann")["status"] == "WAITING"
    assert world.decide("approve", "bob") == "APPROVED"


def test_payload_of_an_earlier_release_keeps_its_hash() -> None:
    """A state that asked before a deployment asks again after it."""
    given = read_json(ROOT / "events/approvals/request_approval.json")
    del given["about"]
    request = parse_request({**given, "requested_by": "account-opening"})

    assert request.payload_hash == "590fde25db2a92d95e474aaa01fe34ad9c4d5ce0bd3f42b295da83f494cdaf3e"
    assert structs.replace(request, four_eyes=False).payload_hash != request.payload_hash


def test_decision_belongs_to_the_round_that_was_read(world: ApprovalWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another execution of the name asks in between, and its requester is another person."""
    world.ask()
    seen = world.approval
    world.states.end("ABORTED", world.at)
    world.recovery.end(ARN, world.at)
    world.ask(world.states.redrive())
    monkeypatch.setattr(type(world.table), "find", lambda *_: seen)

    with pytest.raises(Contention):
        world.decide("approve")


def test_nobody_decides_once_the_approval_is_due(world: ApprovalWorld) -> None:
    world.ask()
    world.pass_by(seconds=DUE_SECONDS)

    with pytest.raises(ApprovalExpired):
        world.decide("approve")
    assert world.sweep()["expired"] == 1
    with pytest.raises(ApprovalExpired):
        world.decide("approve")
    world.send()

    assert answers(world) == [{"decision": "expired", "decided_by": None, "approval_id": ID}]
    assert (world.approval.status, world.approval.took_effect) == ("EXPIRED", True)


def test_decision_just_before_the_due_time_counts(world: ApprovalWorld) -> None:
    world.ask()
    world.pass_by(seconds=DUE_SECONDS, microseconds=-1)
    assert world.sweep()["expired"] == 0

    assert world.decide("reject") == "REJECTED"
    world.pass_by(microseconds=1)

    assert not world.table.expire(ID, world.at).applied
    assert world.decide("reject", by="late") == "REJECTED"


def test_state_that_asks_after_the_decision_gets_it_too(world: ApprovalWorld) -> None:
    world.ask()
    world.decide("approve")
    newest = world.states.wait()

    # The first token is dead, and the execution is running: it may ask again.
    assert not world.send()
    assert world.approval.took_effect is None
    assert world.tokens == []
    assert world.ask(newest)["status"] == "APPROVED"
    assert world.send()

    assert [token for token, _ in world.states.answered] == [newest]
    assert world.approval.took_effect is True


def test_token_that_arrives_while_the_callback_is_sent_is_not_lost(world: ApprovalWorld) -> None:
    world.ask()
    world.decide("approve")
    seen = world.approval
    world.ask(world.states.wait())

    assert not world.table.close(seen, took_effect=True).applied
    assert not world.table.forget_tokens(seen).applied
    assert world.send()
    assert len(answers(world)) == 1


@dataclass
class RowByRow:
    """A client whose batches are not snapshots: the last row is read first. meanwhile: runs once, after that row."""

    client: Any
    meanwhile: Callable[[], object]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def batch_get_item(self, *, RequestItems: Any) -> Any:
        ((table, wanted),) = RequestItems.items()
        found = []
        for key in wanted["Keys"][::-1]:
            found += self.client.batch_get_item(RequestItems={table: {**wanted, "Keys": [key]}})["Responses"][table]
            self.meanwhile()
            self.meanwhile = lambda: None
        return {"Responses": {table: found}}


def test_token_that_arrives_while_tokens_are_read_is_not_lost(world: ApprovalWorld) -> None:
    world.ask()
    world.decide("approve")
    newest = world.states.wait()
    torn = RowByRow(world.client, lambda: world.ask(newest))
    Callbacks(replace(world.table, client=torn), world.callbacks.machine).send(ID)

    assert world.send()
    assert [token for token, _ in world.states.answered] == [newest]
    assert world.approval.took_effect is True


def test_sweep_makes_up_for_a_lost_stream_record(world: ApprovalWorld) -> None:
    world.ask()
    world.decide("approve")
    assert world.sweep()["answered"] == 0

    world.pass_by(minutes=1)
    assert world.sweep()["answered"] == 1

    assert len(answers(world)) == 1
    assert world.sweep() == {
        "waiting": 0,
        "overdue": 0,
        "lagging": 0,
        "expired": 0,
        "cancelled": 0,
        "answered": 0,
        "failed": 0,
    }


@pytest.mark.parametrize("status", ["ABORTED", "FAILED", "TIMED_OUT", "SUCCEEDED"])
def test_execution_that_ended_otherwise_cancels_the_approval(world: ApprovalWorld, status: str) -> None:
    world.ask()
    world.pass_by(seconds=5)
    world.states.end(status, world.at)

    assert world.table.of_execution(ARN) == [ID]
    assert world.recovery.review(ID, world.at) == "cancelled"

    with pytest.raises(ApprovalCancelled):
        world.decide("approve")
    assert world.tokens == []
    assert world.table.of_execution(ARN) == []
    assert "took_effect" not in world.approval.values


def test_decision_between_the_end_and_the_cancel_took_no_effect(world: ApprovalWorld) -> None:
    world.ask()
    world.states.end("ABORTED", world.at)
    seen = world.approval
    assert world.decide("approve") == "APPROVED"

    assert not world.table.cancel(seen, world.at).applied
    assert world.send()

    assert (world.approval.status, world.approval.took_effect) == ("APPROVED", False)
    assert not world.table.owed()


def test_late_event_does_not_cancel_a_redriven_execution(world: ApprovalWorld) -> None:
    world.ask()
    world.states.end("ABORTED", world.at)
    world.pass_by(seconds=5)
    described = dict(world.states.executions[ARN])
    world.ask(world.states.redrive())
    assert world.recovery.review(ID, world.at) == "waiting"

    # The read may be stale, too.
    world.states.executions[ARN] |= described
    assert world.recovery.review(ID, world.at) == "waiting"


def test_cancel_loses_to_a_redriven_state_that_asks(world: ApprovalWorld) -> None:
    world.ask()
    seen = world.approval
    world.ask(world.states.wait())

    assert not world.table.cancel(seen, world.at).applied
    assert len(world.tokens) == 2


def test_redriven_execution_asks_people_again(world: ApprovalWorld) -> None:
    world.ask()
    world.states.end("ABORTED", world.at)
    world.recovery.review(ID, world.at)
    world.pass_by(days=2)

    assert world.ask(world.states.redrive())["status"] == "WAITING"

    assert world.approval.round == 2
    assert "expires_at" not in world.approval.values
    assert (world.approval.due_at - world.at).total_seconds() == DUE_SECONDS
    assert world.decide("approve") == "APPROVED"
    assert world.send()
    assert world.approval.took_effect is True


def test_redriven_execution_gets_the_decision_that_took_no_effect(world: ApprovalWorld) -> None:
    world.ask()
    world.states.end("TIMED_OUT", world.at)
    world.decide("reject")
    world.send()
    assert world.approval.took_effect is False

    world.ask(world.states.redrive())
    assert world.send()

    assert (world.approval.status, world.approval.took_effect) == ("REJECTED", True)


@dataclass
class Subject:
    """A row with approvals."""

    world: ApprovalWorld

    def __post_init__(self) -> None:
        (self.table,) = new_tables(self.world.client, "rows")
        self.world.subject_tables["Rows"] = self.table
        self.about = {"table": "Rows", "key": {"pk": "a-1", "sk": "a-1"}, "statuses": ["SUBMITTED", "IN_REVIEW"]}

    def write(self, status: str) -> None:
        self.world.client.put_item(TableName=self.table, Item={**self._key, "status": {"S": status}})

    @property
    def asked_at(self) -> str | None:
        found = self.world.client.get_item(TableName=self.table, Key=self._key).get("Item", {})
        return found["asked_at"]["S"] if "asked_at" in found else None

    @property
    def _key(self) -> Any:
        return {name: {"S": "a-1"} for name in ("pk", "sk")}


@pytest.fixture
def subject(world: ApprovalWorld) -> Subject:
    return Subject(world)


@pytest.mark.parametrize("status", ["", "APPROVED", "FAILED"])
def test_nobody_is_asked_about_a_decided_or_missing_approval(
    world: ApprovalWorld, subject: Subject, status: str
) -> None:
    if status:
        subject.write(status)

    with pytest.raises(SubjectClosed):
        world.ask(about=subject.about)
    assert (list(world.rows()), subject.asked_at) == ([], None)


def test_row_shows_that_somebody_was_asked(world: ApprovalWorld, subject: Subject) -> None:
    subject.write("SUBMITTED")
    world.ask(about=subject.about)

    assert subject.asked_at == world.approval.values["asked_at"]


def test_request_that_lands_after_the_end_is_cancelled(world: ApprovalWorld) -> None:
    token = world.states.wait()
    world.states.end("ABORTED", world.at)
    world.pass_by(seconds=10)
    world.ask(token)

    assert world.sweep()["cancelled"] == 0
    world.pass_by(minutes=1)
    assert world.sweep()["cancelled"] == 1


def test_approval_id_is_reserved_for_its_execution_for_90_days(world: ApprovalWorld) -> None:
    world.ask()
    world.decide("approve")
    world.send()
    other = ARN.replace("AccountOpening", "Another")

    with pytest.raises(PayloadMismatch, match=r"^approval_id: "):
        world.ask(execution_arn=other)
    world.pass_by(days=90)
    assert world.ask(execution_arn=other)["status"] == "WAITING"

    assert "decided_by" not in world.approval.values
    assert world.approval.round == 2


def test_name_reused_after_90_days_does_not_get_the_old_decision(world: ApprovalWorld) -> None:
    world.ask()
    world.decide("approve")
    world.send()
    world.pass_by(days=90)

    assert world.ask(world.states.wait())["status"] == "WAITING"
    assert len(answers(world)) == 1


def test_name_with_dots_is_one_approval(world: ApprovalWorld) -> None:
    arn = ARN.replace("a-1", "v1.2.review")

    answer = world.ask(execution_arn=arn)

    assert answer["approval_id"] == "account-opening.v1.2.review.review"
    assert world.decide("approve", approval_id=answer["approval_id"]) == "APPROVED"


def test_last_resort_is_logged(world: ApprovalWorld, caplog: pytest.LogCaptureFixture) -> None:
    world.ask()
    world.states.time_out()
    world.states.end("FAILED", world.at)

    assert world.recovery.review(ID, world.at) == "cancelled"

    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == ["waiting state timed out"]


def test_missing_execution_leaves_the_approval_until_it_is_due(world: ApprovalWorld) -> None:
    world.ask()
    world.states.executions.clear()
    assert world.sweep()["cancelled"] == 0

    world.pass_by(seconds=DUE_SECONDS)
    assert world.sweep()["expired"] == 1
    world.states.waiting.clear()
    assert world.send()
    assert world.approval.took_effect is False


def test_owed_and_due_approvals_are_counted_for_the_alarms(
    world: ApprovalWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.ask()
    world.decide("approve")
    world.states.wait()
    world.pass_by(minutes=16)
    assert world.sweep()["lagging"] == 1

    world.ask(execution_arn=ARN.replace("a-1", "a-2"))
    world.pass_by(seconds=DUE_SECONDS, minutes=16)
    world.states.fails = "ThrottlingException"
    with caplog.at_level("INFO"), pytest.raises(SweepUnfinished, match="1 of 2"):
        world.sweep()
    assert [
        (vars(record)["overdue"], vars(record)["failed"]) for record in caplog.records if record.msg == "swept"
    ] == [(1, 1)]


def test_sweep_examines_part_of_the_backlog(world: ApprovalWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_LOOKED_AT == 500
    monkeypatch.setattr("approvals.recovery.MAX_LOOKED_AT", 1)
    for number in (1, 2, 3):
        arn = ARN.replace("a-1", f"a-{number}")
        world.ask(execution_arn=arn)
        world.states.end("ABORTED", world.at, arn)

    assert [world.sweep()["cancelled"] for _ in range(4)] == [1, 1, 1, 0]


def test_unknown_approval_and_its_tokens_are_not_found(world: ApprovalWorld) -> None:
    world.ask()

    for approval_id in ("nope", "account-opening.a-2.review"):
        with pytest.raises(ApprovalNotFound):
            world.decide("approve", approval_id=approval_id)
    with pytest.raises(InvalidDecision, match=r"^approval_id: "):
        world.decide("approve", approval_id=f"TOKENS#{ID}")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"decision": "expired"}, "decision"),
        ({"decision": None}, "decision"),
        ({"decided_by": " "}, "decided_by"),
        ({"decided_by": "\ud800"}, "decided_by"),
        ({"comment": "a" * 2001}, "comment"),
        ({"status": "APPROVED"}, "status"),
    ],
)
def test_invalid_decision_names_the_field_and_writes_nothing(
    world: ApprovalWorld, changes: dict[str, Any], field: str
) -> None:
    world.ask()
    before = world.approval

    with pytest.raises(InvalidDecision, match=f"^{field}: "):
        world.decide(**{"decision": "approve", **changes})

    assert world.approval == before


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"schema": 2}, "schema"),
        ({"machine": "a.b"}, "machine"),
        ({"step": ""}, "step"),
        ({"execution_name": "a#1"}, "execution_name"),
        ({"execution_name": "a-2"}, "execution_arn"),
        ({"subject": ""}, "subject"),
        ({"group": "two words"}, "group"),
        ({"due_in_seconds": 0}, "due_in_seconds"),
        ({"due_in_seconds": 364 * 86_400 + 1}, "due_in_seconds"),
        ({"about": {"table": "Others", "key": {"pk": "1"}, "statuses": ["NEW"]}}, "about.table"),
        ({"about": {"table": "Rows", "key": {}, "statuses": ["NEW"]}}, "about.key"),
        ({"about": {"table": "Rows", "key": {"pk": "1"}, "statuses": []}}, "about.statuses"),
        ({"comment": "-"}, "comment"),
    ],
)
def test_invalid_request_names_the_field_and_writes_nothing(
    world: ApprovalWorld, changes: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidApproval, match=f"^{field}: "):
        world.ask(**changes)

    assert list(world.rows()) == []
