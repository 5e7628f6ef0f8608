"""Problems that need an operator, in all contexts: the inbox of `stepwise attention`, with its commands as buttons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.config import Config

from stepwise.operations import inbox, queues
from stepwise.operations.inbox import Concern
from stepwise.operations.replay.budget import Budget
from stepwise.operations.replay.failed import FailedRecords
from stepwise.operations.replay.fire import Outcome, Trigger
from stepwise.operations.replay.kept import deliverer
from stepwise.operations.stack import Stack

from .cache import Kept
from .changes import Change, Form
from .pages import Page, Visit
from .rendering import quote_path

_UNITS_PER_SECOND = 500.0
"""Rate of `stepwise replay` without --rate."""


@dataclass(frozen=True, slots=True)
class Button:
    """A change for a concern. parameters: passed to the change."""

    change: str
    label: str
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A concern. page: where to look; empty for none. command: a ./stepwise command. buttons: changes that help."""

    concern: Concern
    page: str
    command: str
    buttons: Sequence[Button]

    @property
    def key(self) -> str:
        return " ".join([self.concern.context, self.concern.id, *map(str, self.concern.see)])


_INBOX = Kept(lambda visit: list(inbox.concerns(visit.stack, visit.settings.stack_name)))


def view(visit: Visit) -> Mapping[str, Any]:
    """Return the concerns, of one context or of all."""
    found = _INBOX.get(visit)
    context = visit.asked("context")
    entries = [
        Entry(one, page_of(one), visit.settings.command(*one.see), buttons_of(one))
        for one in found
        if context in ("", one.context)
    ]
    return {
        "entries": entries,
        "contexts": sorted({one.context for one in found} | ({context} - {""})),
        "total": len(found),
    }


def page_of(one: Concern) -> str:
    """Return the page for a concern's subject."""
    key = quote_path(one.id)
    match one.context:
        case _ if not one.id:
            return ""
        case "orders" | "applications" | "approvals":
            return f"/{one.context}/{key}"
        case "commands" | "imports":
            return f"/{one.context}/{'/'.join(map(quote_path, one.id.split('/', 1)))}"
        case "work":
            return f"/leases/{quote_path(one.id.rpartition('#')[0])}"
        case "user-imports":
            return f"/runs/UserImport/{key}"
    return ""


def buttons_of(one: Concern) -> list[Button]:
    """Return the changes equivalent to a concern's command; none if the command only shows something."""
    match one.see:
        case ("recover", str(order_id)):
            return [Button("recover-order", "Recover", {"order_id": order_id})]
        case ("applications", "recover", str(application_id)):
            return [Button("recover-application", "Recover", {"application_id": application_id})]
        case ("commands", "retry", str(name), *_):
            return [
                Button("retry-command", "Retry", {"key": name}),
                Button("skip-command", "Skip", {"key": name}),
            ]
        case ("commands", "rebuild", str(target), ("--key", name)):
            return [Button("rebuild-target", "Rebuild", {"target": target, "key": name})]
        case ("queues", "redrive", str(name)):
            return [Button("redrive-queue", "Send again", {"queue": name})]
        case ("replay", ("--failed",)):
            return [Button("replay-failed", "Replay", {})]
    return []


def _redrive(visit: Visit, _values: Form, _who: str) -> str:
    name = visit.asked("queue")
    done = queues.redrive(visit.stack, queues.find(visit.stack, visit.settings.stack_name, name))
    _INBOX.forget()
    left = f" {done.left} hold no event, and are left." if done.left else ""
    return f"{name}: sent {done.again} through again.{left}"


def _replay(visit: Visit, _values: Form, _who: str) -> str:
    stack = visit.stack
    records = FailedRecords(
        stack.dynamodb, stack.client("s3"), stack.outputs[queues.REPORTS], _trigger(stack), deliverer(stack), _ignore
    )
    counts = records.run(dry=False)
    _INBOX.forget()
    stuck = counts[Outcome.STUCK]
    return f"Replayed {counts.total() - stuck}; {stuck} still fail."


def _trigger(stack: Stack) -> Trigger:
    once = Config(retries={"total_max_attempts": 1})
    client = stack.session.client("dynamodb", endpoint_url=stack.endpoint, config=once)
    return Trigger(client, stack.outputs["OrdersTable"], Budget(_UNITS_PER_SECOND))


def _ignore(_more: int) -> None:
    """Ignore progress, which nobody watches."""


REDRIVE = Change(
    "redrive-queue",
    "Send messages again",
    effect=lambda visit: f"Sends every message of {visit.asked('queue')} through again. Each is handled once.",
    command=lambda visit: ("queues", "redrive", visit.asked("queue")),
    run=_redrive,
    parameters=("queue",),
)
REPLAY = Change(
    "replay-failed",
    "Replay failed changes",
    effect=lambda _: (
        "Replays the changes of orders that the reports could not count, in their order. Each is counted once."
    ),
    command=lambda _: ("replay", ("--failed",)),
    run=_replay,
    needs=(queues.REPORTS,),
)

PAGES = (Page("/attention", "attention.html", view, title="Attention", live=True),)
CHANGES = (REDRIVE, REPLAY)
