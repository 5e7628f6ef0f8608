"""Approvals and applications over HTTP: pages without tokens, decisions, and the status of an application."""

import io
import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from accounts.definition import APPROVED, FAILED, IN_REVIEW, SUBMITTED
from api import applications, approvals, calls
from api.answer import Problem
from api.request import Request
from tests.kit.approvals import ApprovalWorld
from tests.kit.openings import OpeningWorld, application
from tests.unit.dynamodb import client

ARNS = [f"arn:aws:states:us-east-1:000000000000:execution:AccountOpening:a-{number}" for number in range(4)]


def request(
    route: str, body: Any = None, subject: str | None = None, groups: tuple[str, ...] = (), **values: Any
) -> Request:
    return Request(route, "", "p", values, {}, body, subject=subject, groups=frozenset(groups))


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lists pages of one approval. Three wait for reviewers, and the last is due first; one waits for others."""
    world = ApprovalWorld(client())
    for number, arn in enumerate(ARNS):
        group = "reviewers" if number else "others"
        world.ask(f"token-{number}", execution_arn=arn, group=group, due_in_seconds=3600 - number)
    own: Any = SimpleNamespace(approvals_table=world.table.name)
    monkeypatch.setattr(approvals, "dynamodb", client)

    def list_all(subject: str | None = None, groups: tuple[str, ...] = (), **filters: str) -> list[Any]:
        found, given = [], {**filters, "limit": 1}
        while given:
            asked = request("GET /approvals", None, subject, groups, **given)
            body = approvals.list_approvals(asked, own).body
            assert len(body["approvals"]) <= 1
            found += body["approvals"]
            given = {**given, "cursor": body["cursor"]} if body["cursor"] else {}
        return found

    return list_all


def test_approvals_of_a_group_are_paged_by_due_time(listed: Any) -> None:
    assert [one["subject"] for one in listed(group="reviewers")] == ["a-1"] * 3
    assert [one["approval_id"].split(".")[1] for one in listed(group="reviewers")] == ["a-3", "a-2", "a-1"]
    assert listed(group="nobody") == []


def test_without_a_token_approvals_of_all_groups_are_listed(listed: Any) -> None:
    found = listed()

    assert sorted(one["approval_id"].split(".")[1] for one in found) == ["a-0", "a-1", "a-2", "a-3"]
    assert "token" not in json.dumps(found)
    assert "arn:" not in json.dumps(found)


def test_token_lists_approvals_of_its_groups(listed: Any) -> None:
    found = {groups: {one["group"] for one in listed("user-1", groups)} for groups in (("others",), ("a", "reviewers"))}

    assert found == {("others",): {"others"}, ("a", "reviewers"): {"reviewers"}}
    assert len(listed("user-1", ("reviewers", "others"))) == 4
    assert len(listed("user-1", ("reviewers",), group="reviewers")) == 3
    assert listed("user-1", ("a",)) == []
    for groups, filters in (((), {}), (("reviewers",), {"group": "others"}), ((), {"group": "others"})):
        with pytest.raises(Problem) as refused:
            listed("user-1", groups, **filters)
        assert refused.value.answer.status == 403


@pytest.mark.parametrize(("groups", "status"), [(("reviewers", "a"), 0), (("a",), 403), ((), 403)])
def test_token_decides_approvals_of_its_groups(
    decided: list[Any], monkeypatch: pytest.MonkeyPatch, groups: tuple[str, ...], status: int
) -> None:
    world = ApprovalWorld(client())
    world.ask()
    own: Any = SimpleNamespace(approvals_table=world.table.name, decide_approval_function="f")
    monkeypatch.setattr(approvals, "dynamodb", client)
    route, found = "POST /approvals/{approval_id}/decision", world.approval.id
    asked = request(route, {"decision": "approve"}, "user-1", groups, approval_id=found)
    if not status:
        approvals.decide_approval(asked, own)
        return
    with pytest.raises(Problem) as refused:
        approvals.decide_approval(asked, own)
    assert (refused.value.answer.status, decided) == (status, [])


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The input of DecideApproval."""
    given: list[Any] = []

    def invoke(_: str, payload: Any) -> Any:
        given.append(payload)
        return {"approval_id": payload["approval_id"], "status": "APPROVED"}

    monkeypatch.setattr(approvals, "invoke", invoke)
    return given


OWN: Any = SimpleNamespace(approvals_table="t", decide_approval_function="f", submit_application_function="f")


def test_decider_is_named_by_the_back_end_or_is_the_token_subject(
    decided: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    route, named = "POST /approvals/{approval_id}/decision", {"decision": "approve", "decided_by": "ann"}
    approvals.decide_approval(request(route, named, approval_id="m.e.s"), OWN)
    monkeypatch.setattr(approvals, "read_rows", lambda *_: [{"group": {"S": "reviewers"}}])
    monkeypatch.setattr(approvals, "dynamodb", lambda: None)
    by_token = request(route, {"decision": "approve"}, "user-1", ("reviewers",), approval_id="m.e.s")
    approvals.decide_approval(by_token, OWN)

    assert [one["decided_by"] for one in decided] == ["ann", "user-1"]
    for subject in ("user-1", ""):
        with pytest.raises(Problem) as refused:
            approvals.decide_approval(request(route, named, subject, approval_id="m.e.s"), OWN)
        assert (refused.value.answer.status, refused.value.answer.body["errors"][0]["pointer"]) == (422, "#/decided_by")
    assert len(decided) == 2


@pytest.mark.parametrize(
    ("name", "message", "status", "pointers"),
    [
        ("InvalidDecision", "decided_by: required", 422, ["#/decided_by"]),
        ("InvalidApplication", "address.line1: required", 422, ["#/address/line1"]),
        ("InvalidTask", "items[0].key: required\nitems[12].pk: no", 422, ["#/items/0/key", "#/items/12/pk"]),
        ("InvalidCommand", "attributes.timed out: unknown field", 422, []),
        ("PayloadMismatch", "application_id: a-1 is an application with other content", 409, ["#/application_id"]),
        ("ApprovalNotFound", "approval_id: there is no approval m.e.s", 404, []),
        ("AlreadyDecided", "m.e.s: is APPROVED since now", 409, []),
        ("ApprovalExpired", "m.e.s: was due at noon", 409, []),
        ("ApprovalCancelled", "m.e.s: its execution ended", 409, []),
        ("OwnRequest", "m.e.s: decided_by has requested it", 409, []),
    ],
)
def test_function_refusal_becomes_a_problem(
    name: str, message: str, status: int, pointers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps({"errorType": name, "errorMessage": message}).encode()
    answer = {"FunctionError": "Unhandled", "Payload": io.BytesIO(text)}
    monkeypatch.setattr(calls, "single_try_client", lambda _: SimpleNamespace(invoke=lambda **_: answer))

    with pytest.raises(Problem) as refused:
        calls.invoke("f", {})
    body = refused.value.answer.body
    assert (body["status"], [one["pointer"] for one in body.get("errors", [])]) == (status, pointers)


def test_duplicate_gets_the_answer_of_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    statuses = iter((SUBMITTED, "duplicate"))
    monkeypatch.setattr(
        applications, "invoke", lambda _, body: {"application_id": body["application_id"], "status": next(statuses)}
    )
    first, second = (
        applications.submit_application(request("POST /applications", application()), OWN) for _ in range(2)
    )

    assert first == second
    assert first.headers["location"] == "/applications/a-1"


@pytest.mark.parametrize(
    ("changes", "waits_for"),
    [
        ({}, "its checks"),
        ({"status": IN_REVIEW}, "the decision of its review"),
        ({"status": IN_REVIEW, "unsettled": "a-1"}, "the setup of its account"),
        ({"status": SUBMITTED, "unsettled": "a-1"}, "the setup of its account"),
        ({"status": APPROVED, "unsettled": "a-1"}, None),
        ({"status": FAILED, "reason": "AccountNotOpened"}, None),
        ({"status": FAILED, "standing": "OpenAccount"}, "an operator: a compensation gave up"),
    ],
)
def test_application_shows_what_it_waits_for_but_not_who_applies(
    changes: dict[str, str], waits_for: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = OpeningWorld(client(), now=datetime.now(UTC))
    world.submit(application())
    if changes:
        world.write("a-1", **changes)
    monkeypatch.setattr(applications, "dynamodb", client)
    own: Any = SimpleNamespace(applications_table=world.applications.name)

    found = applications.show_application(request("GET /", application_id="a-1"), own).body
    assert found["waits_for"] == waits_for
    assert {name: found[name] for name in changes if name in ("status", "reason")} == {
        name: value for name, value in changes.items() if name in ("status", "reason")
    }
    assert found.keys().isdisjoint({"name", "date_of_birth", "address", "document_key", "payload_hash"})
    with pytest.raises(Problem):
        applications.show_application(request("GET /", application_id="a-2"), own)
