"""Leases: work of unknown outcome, and the decisions of a person."""

import json

from playwright.sync_api import Page, expect

from idempotency import Status
from stepwise.operations import work
from stepwise.operations.work import JOB
from tests.browser.asking import confirm, refused, told
from tests.browser.things import HOSTILE, Things


def test_work_of_unknown_outcome_is_resolved_with_its_result(page: Page, things: Things) -> None:
    own = things.abandoned_lease()
    page.goto("/leases?status=IN_PROGRESS")
    page.get_by_role("row", name=own).get_by_role("link", name="Resolve").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"work resolve {own} {JOB} --result JSON")
    confirm(page, **{"Result as JSON": '{"size": 1}', "Why": HOSTILE, "Done by": "ann"})
    told(page, f"{own}#{JOB} is resolved")
    page.goto(f"/leases/{own}")
    expect(page.get_by_role("region", name="Decisions")).to_contain_text("<img src=x onerror=")
    expect(page.get_by_role("row", name=own)).to_contain_text("COMPLETED")

    record = work.record(things.stack, own, JOB)
    assert (record.status, json.loads(record.result or "")) == (Status.COMPLETED, {"size": 1})
    assert (record.audit[0]["by"], record.audit[0]["reason"]) == ("ann", HOSTILE)
    assert page.title() == f"Leases of {own} · Stepwise"


def test_failed_work_is_resolved_with_its_error(page: Page, things: Things) -> None:
    own = things.abandoned_lease()
    page.goto(f"/leases/{own}")
    page.get_by_role("link", name="Resolve").click()
    outcome = "it ended in this final error"
    confirm(page, **{"Outcome": outcome, "Result as JSON": "ObjectNotReadable: it is gone", "Why": "looked"})
    told(page, "is resolved")

    assert work.record(things.stack, own, JOB).error == ("ObjectNotReadable", "it is gone")


def test_released_key_runs_the_work_again(page: Page, things: Things) -> None:
    own = things.abandoned_lease()
    page.goto(f"/leases/{own}")
    page.get_by_role("link", name="Release").click()
    confirm(page, Why="nothing happened")
    told(page, f"{own}#{JOB} is released")

    assert work.record(things.stack, own, JOB).status is Status.RELEASED


def test_non_json_result_is_rejected(page: Page, things: Things) -> None:
    own = things.abandoned_lease()
    page.goto(f"/changes/resolve-lease?key={own}&work={JOB}")
    page.get_by_label("Result as JSON").fill("{")
    page.get_by_label("Why").fill("a test")
    page.get_by_role("button", name="Resolve").click()
    refused(page, "not JSON at line 1, column 2:")

    assert work.record(things.stack, own, JOB).status is Status.IN_PROGRESS


def test_id_without_work_is_reported(page: Page) -> None:
    page.goto("/leases/nothing")

    expect(page.locator("main")).to_contain_text("nothing has no record of any work")
