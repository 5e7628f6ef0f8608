"""The ends of applications: rejections, interrupted executions, and accounts that account-setup has started."""

from datetime import timedelta
from typing import Any

import pytest

from accounts.errors import AccountNotOpened, SetupRunning, StaleApplication
from accounts.recovery import MAX_LOOKED_AT, read_outcome, start
from accounts.requests import parse_reject
from accounts.state import Reason
from runtime.machine import Machine
from runtime.sweep import SweepUnfinished
from runtime.validation import InvalidEvent
from tests.kit.commands import Machines
from tests.kit.openings import OpeningWorld, application
from tests.unit.dynamodb import client


@pytest.fixture
def world() -> OpeningWorld:
    made = OpeningWorld(client())
    made.submit(application())
    return made


def ran(status: str) -> dict[str, Any]:
    return {"a-1": {"status": status, "input": "{}"}}


def inserted(**change: Any) -> dict[str, Any]:
    image = {"application_id": {"S": "a-1"}, "status": {"S": "SUBMITTED"}}
    return {"eventName": "INSERT", "dynamodb": {"NewImage": image}, **change}


def test_new_row_starts_one_execution_with_only_its_id() -> None:
    machines = Machines()
    own = Machine(lambda: machines, "arn:aws:states:r:1:stateMachine:account-opening")

    for _ in range(2):
        start(inserted(), own)
    start(inserted(eventName="MODIFY"), own)
    assert machines.executions == {"a-1": {"status": "RUNNING", "input": '{"application":{"id":"a-1"}}'}}

    machines.executions["a-1"]["status"] = "FAILED"
    start(inserted(), own)


def test_row_of_a_setup_started_by_hand_starts_nothing() -> None:
    machines = Machines()
    image = {"application_id": {"S": "a-1"}, "status": {"S": "FAILED"}}

    start(inserted(dynamodb={"NewImage": image}), Machine(lambda: machines, "arn"))
    assert machines.executions == {}


@pytest.mark.parametrize(("decision", "reason"), [("reject", "Rejected"), ("expired", "ReviewExpired")])
def test_rejection_states_the_reason(world: OpeningWorld, decision: str, reason: str) -> None:
    asked = parse_reject({"application_id": "a-1", "decision": decision})
    world.applications.flag("a-1", [Reason.NAME_BARRED], world.now)
    for _ in range(2):
        world.applications.reject("a-1", asked.reason, world.now)

    assert (world.status(), world.row()["reason"], "open_since" in world.row()) == ("REJECTED", reason, False)


def test_unknown_decision_rejects_nothing() -> None:
    with pytest.raises(InvalidEvent, match=r"^decision: "):
        parse_reject({"application_id": "a-1", "decision": "approve"})


@pytest.mark.parametrize("status", ["SUBMITTED", "APPROVED", "FAILED"])
def test_only_an_application_in_review_is_rejected(world: OpeningWorld, status: str) -> None:
    world.write("a-1", status=status)
    before = world.row()

    with pytest.raises(StaleApplication):
        world.applications.reject("a-1", "Rejected", world.now)
    assert world.row() == before


@pytest.mark.parametrize("setup", [None, "FAILED", "ABORTED"])
def test_application_interrupted_before_its_account_has_failed(world: OpeningWorld, setup: str | None) -> None:
    world.setup.executions = ran(setup) if setup else {}

    assert world.recovery.end("a-1", "ABORTED", world.now)
    assert (world.status(), world.row()["reason"], "open_since" in world.row()) == (
        "FAILED",
        "Execution.ABORTED",
        False,
    )
    assert not world.recovery.end("a-1", "ABORTED", world.now)


@pytest.mark.parametrize("setup", [None, "ABORTED"])
def test_account_setup_decides_once_the_account_was_started(world: OpeningWorld, setup: str | None) -> None:
    """An account that was started just now, and one that is being undone."""
    world.setup.executions = ran(setup) if setup else {}
    world.write("a-1", unsettled="a-1")
    before = world.row()

    assert not world.recovery.end("a-1", "ABORTED", world.now)
    assert world.row() == before


@pytest.mark.parametrize(("asked_after", "seconds", "failed"), [(1, 59, False), (1, 61, True), (-1, 0, True)])
def test_review_newer_than_the_end_belongs_to_a_redrive(
    world: OpeningWorld, asked_after: int, seconds: int, failed: bool
) -> None:
    """DescribeExecution may show the redrive late."""
    asked_at = world.now + timedelta(seconds=asked_after)
    world.opening.executions = {"a-1": {"status": "ABORTED", "input": "{}", "stopDate": world.now}}
    world.write("a-1", status="IN_REVIEW", asked_at=asked_at.isoformat(timespec="microseconds"))

    assert world.recovery.end("a-1", "ABORTED", asked_at + timedelta(seconds=seconds)) is failed
    assert world.status() == ("FAILED" if failed else "IN_REVIEW")


@pytest.mark.parametrize("before", [{}, {"asked_at": "2026-11-20T12:00:00.000000+00:00"}])
def test_review_requested_meanwhile_prevents_the_failure(world: OpeningWorld, before: dict[str, str]) -> None:
    world.write("a-1", status="IN_REVIEW", **before)
    seen = world.applications.find("a-1")
    assert seen is not None
    world.write("a-1", asked_at="2026-11-22T12:00:00.000000+00:00")

    assert not world.applications.fail(seen, "Execution.ABORTED", world.now)
    assert world.status() == "IN_REVIEW"


@pytest.mark.parametrize("status", ["APPROVED", "REJECTED"])
def test_late_event_changes_no_decision(world: OpeningWorld, status: str) -> None:
    world.write("a-1", status=status)

    assert not world.recovery.end("a-1", "FAILED", world.now)
    assert world.status() == status


@pytest.mark.parametrize(
    ("status", "setup", "outcome"),
    [
        ("APPROVED", "SUCCEEDED", {"status": "APPROVED"}),
        ("APPROVED", None, {"status": "APPROVED"}),
        ("FAILED", "FAILED", AccountNotOpened),
        ("IN_REVIEW", "RUNNING", SetupRunning),
        ("IN_REVIEW", "SUCCEEDED", SetupRunning),
        ("SUBMITTED", "ABORTED", AccountNotOpened),
        ("SUBMITTED", None, AccountNotOpened),
    ],
)
def test_outcome_of_an_earlier_setup_is_read(world: OpeningWorld, status: str, setup: str | None, outcome: Any) -> None:
    world.write("a-1", status=status)
    world.setup.executions = ran(setup) if setup else {}

    if isinstance(outcome, dict):
        assert read_outcome(world.applications, world.recovery.setup, "a-1") == outcome
    else:
        with pytest.raises(outcome):
            read_outcome(world.applications, world.recovery.setup, "a-1")


def test_sweep_starts_unstarted_applications_and_leaves_running_ones(world: OpeningWorld) -> None:
    assert world.sweep(minutes=0)["running"] == 1
    assert world.opening.executions == {}
    assert world.sweep()["started"] == 1
    assert world.sweep()["running"] == 1
    assert world.status() == "SUBMITTED"


@pytest.mark.parametrize("status", ["FAILED", "TIMED_OUT", "ABORTED", "SUCCEEDED"])
def test_sweep_fails_applications_that_ended_undecided(world: OpeningWorld, status: str) -> None:
    world.opening.executions = ran(status)

    assert world.sweep()["ended"] == 1
    assert (world.status(), world.row()["reason"]) == ("FAILED", f"Execution.{status}")
    assert world.sweep()["open"] == 0


def test_sweep_leaves_a_started_account_and_finally_closes_it(world: OpeningWorld) -> None:
    world.opening.executions, world.setup.executions = ran("ABORTED"), ran("RUNNING")
    assert world.sweep()["finalizing"] == 1

    world.setup.executions = ran("SUCCEEDED")
    world.write("a-1", status="APPROVED")
    assert world.sweep()["closed"] == 1
    assert (world.status(), world.sweep()["open"]) == ("APPROVED", 0)


def test_sweep_lists_an_application_restored_to_before_its_setup(world: OpeningWorld) -> None:
    world.opening.executions, world.setup.executions = ran("SUCCEEDED"), ran("SUCCEEDED")

    assert world.sweep()["finalizing"] == 1
    assert (world.status(), world.row()["unsettled"]) == ("SUBMITTED", "a-1")


def test_sweep_that_cannot_read_fails(world: OpeningWorld) -> None:
    world.opening.fails = "ThrottlingException"

    with pytest.raises(SweepUnfinished, match=r"^1 of 1"):
        world.sweep()
    assert world.sweep()["started"] == 1


@pytest.fixture
def many(world: OpeningWorld) -> OpeningWorld:
    """Three applications, whose executions were stopped."""
    for number in (2, 3):
        world.submit(application(f"a-{number}"))
    world.opening.executions = {f"a-{number}": {"status": "ABORTED", "input": "{}"} for number in (1, 2, 3)}
    return world


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_LOOKED_AT == 200
    monkeypatch.setattr("accounts.recovery.MAX_LOOKED_AT", 1)


@pytest.mark.usefixtures("one_at_a_time")
def test_sweep_examines_part_of_the_applications_in_review(many: OpeningWorld) -> None:
    for number in (1, 2, 3):
        many.write(f"a-{number}", status="IN_REVIEW")

    assert [many.sweep()["ended"] for _ in range(4)] == [1, 1, 1, 0]


@pytest.mark.usefixtures("one_at_a_time")
def test_sweep_examines_all_new_applications(many: OpeningWorld) -> None:
    many.opening.executions = {}

    assert many.sweep()["started"] == 3


@pytest.mark.usefixtures("one_at_a_time")
def test_sweep_examines_part_of_the_long_running_applications(many: OpeningWorld) -> None:
    assert [many.sweep(minutes=15)["ended"] for _ in range(4)] == [1, 1, 1, 0]


@pytest.mark.usefixtures("one_at_a_time")
def test_sweep_closes_all_decided_applications(many: OpeningWorld) -> None:
    for number in (1, 2, 3):
        many.write(f"a-{number}", status="APPROVED")

    assert many.sweep(minutes=60)["closed"] == 3


@pytest.mark.usefixtures("one_at_a_time")
def test_applications_skipped_by_a_sweep_have_not_failed(many: OpeningWorld) -> None:
    for number in (1, 2, 3):
        many.write(f"a-{number}", status="IN_REVIEW")

    with pytest.raises(SweepUnfinished, match=r"^1 of 1"):
        many.sweep(has_time=False)
