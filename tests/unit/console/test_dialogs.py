"""A change applies to the version that its dialog named, and to no later one."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.applications import Starlette

from entities.errors import NotBlocked
from idempotency import LeaseRecord, LeaseStore, Status
from stepwise.cli import hints
from stepwise.console import keys, leases
from stepwise.console.answers import Answers
from stepwise.console.change_routes import ChangeRoutes
from stepwise.console.changes import Change
from stepwise.console.reader import Reader
from stepwise.console.settings import Settings
from stepwise.operations import work
from stepwise.operations.stack import Stack
from tests.unit import dynamodb
from tests.unit.console.asgi import Answer, get, post


@dataclass
class Dialog:
    """The form of a change, open in a browser. fields: its hidden ones."""

    app: Starlette
    address: str

    def __post_init__(self) -> None:
        found = get(self.app, self.address)
        self.text, self.cookie = found.text, found.cookie
        self.fields = dict(re.findall('type="hidden" name="([^"]*)" value="([^"]*)"', self.text))

    def confirm(self, **fields: str) -> Answer:
        form = {**self.fields, "reason": "seen", "who": "ada", **fields}
        return post(self.app, self.address.partition("?")[0], form, cookie=self.cookie)


def served(change: Change, stack: Stack) -> Starlette:
    reader = Reader(Settings(lambda: stack, hints.command))
    return Starlette(routes=ChangeRoutes(reader, Answers(reader, ()), (change,)).routes)


def stack(**outputs: str) -> Stack:
    made = Stack(cast("Any", None), None, outputs)
    made._clients["sts"] = SimpleNamespace(get_caller_identity=lambda: {"Arn": "arn:aws:iam::000000000000:user/ada"})
    return made


@dataclass
class DeadKey:
    """A key whose versions all die."""

    turn: int = 5

    def view(self, *_: object, **__: object) -> Any:
        return SimpleNamespace(gate=SimpleNamespace(turn=self.turn))

    def skip(self, _stack: Stack, _key: object, version: int, *_: str) -> int:
        if version != self.turn:
            raise NotBlocked("the version whose turn it is is another one")
        self.turn += 1
        return version


@pytest.fixture
def dead(monkeypatch: pytest.MonkeyPatch) -> DeadKey:
    made = DeadKey()
    monkeypatch.setattr(keys.commands, "view", made.view)
    monkeypatch.setattr(keys.commands, "skip", made.skip)
    return made


@pytest.fixture
def skips(dead: DeadKey) -> Starlette:
    return served(keys.SKIP, stack(GatesTable="gates"))


SKIP = "/changes/skip-command?key=t/PRODUCT%23p"


def test_skip_sent_again_does_not_skip_the_next_version(dead: DeadKey, skips: Starlette) -> None:
    dialog = Dialog(skips, SKIP)
    assert "Skips version 5 of t/PRODUCT#p for good" in dialog.text
    statuses = [dialog.confirm().status for _ in range(2)]

    assert (statuses, dead.turn) == ([303, 409], 6)


def test_refused_skip_still_names_its_own_version(dead: DeadKey, skips: Starlette) -> None:
    dialog = Dialog(skips, SKIP)
    dead.turn = 6
    found = dialog.confirm()

    assert "Skips version 5" in found.text
    assert 'name="version" value="5"' in found.text


def test_dialog_names_the_version_of_its_button(dead: DeadKey, skips: Starlette) -> None:
    dead.turn = 6
    dialog = Dialog(skips, f"{SKIP}&version=5")

    assert "Skips version 5" in dialog.text
    assert (dialog.confirm().status, dead.turn) == (409, 6)


@pytest.mark.parametrize("version", ["", "five"])
def test_skip_that_names_no_version_is_rejected(dead: DeadKey, skips: Starlette, version: str) -> None:
    assert (Dialog(skips, SKIP).confirm(version=version).status, dead.turn) == (422, 5)


@pytest.fixture
def leased() -> Stack:
    """A stack with a job whose owner crashed."""
    client = dynamodb.client()
    made = stack(IdempotencyTable=dynamodb.new_table(client))
    made._clients["dynamodb"] = client
    store = LeaseStore(client, made.outputs["IdempotencyTable"], clock=lambda: datetime(2026, 11, 23, tzinfo=UTC))
    store.lease(work.RUN_JOB, "j-1", {}, deadline=datetime(2026, 11, 23, 0, 1, tzinfo=UTC))
    return made


def record(stack: Stack) -> LeaseRecord:
    return work.record(stack, "j-1", work.JOB)


@pytest.mark.parametrize(
    ("change", "fields"),
    [(leases.RELEASE, {}), (leases.RESOLVE, {"outcome": "it succeeded with this result", "value": '"other"'})],
    ids=lambda one: one.name if isinstance(one, Change) else "",
)
def test_decision_on_already_decided_work_is_rejected(leased: Stack, change: Change, fields: dict[str, str]) -> None:
    dialog = Dialog(served(change, leased), f"/changes/{change.name}?key=j-1&work={work.JOB}")
    work.operations(leased).complete(record(leased), "done", by="ben", reason="looked")
    found = dialog.confirm(**fields)

    assert (found.status, record(leased).status, record(leased).result) == (409, Status.COMPLETED, '"done"')
    assert "j-1#RunJob has changed since the form was opened; look again" in found.text


def test_work_is_released_once(leased: Stack) -> None:
    dialog = Dialog(served(leases.RELEASE, leased), f"/changes/release-lease?key=j-1&work={work.JOB}")

    assert [dialog.confirm().status for _ in range(2)] == [303, 409]
    assert record(leased).status is Status.RELEASED
    assert len(record(leased).audit) == 1
