"""`stepwise webhooks`: status changes sent to HTTPS addresses: subscribe, list, test, send again."""

from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table

from stepwise.local.drawing import Text
from stepwise.operations import webhooks
from webhooks.event import EventType
from webhooks.state import Delivery, Subscription, SubscriptionStatus
from webhooks.subscribing import display_name

from . import hints, output, shapes, views
from .options import Yes, chosen_stack

app = typer.Typer(help="Webhooks: status changes sent to subscribers.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="WEBHOOK", help="TENANT_CODE/WEBHOOK_ID, as 'list' shows it.")]
Tenant = Annotated[str, typer.Option(help="The tenant_code; without it, the operator's.")]


@app.command()
def add(
    url: Annotated[str, typer.Argument(help="HTTPS address. It may hold a credential: it is stored as a secret.")],
    event: Annotated[list[EventType], typer.Option(help="What to send; may be repeated.")],
    tenant: Tenant = "",
) -> None:
    """Subscribe an address, and show the secret for its receiver. Run it again to see the secret again."""
    stack, out = chosen_stack(), views.console()
    made = webhooks.subscribe(stack, tenant or None, url, [one.value for one in event])
    shown = display_name(made.key)
    # The secret is for a person who hands it to the receiver, never for a script's log.
    output.document_only({"webhook": shown, "again": made.again})
    out.print(f"{shown} was subscribed before." if made.again else f"Subscribed {shown}.")
    _show_secret(out, made.secret)
    out.print(f"Try it: {hints.command('webhooks', 'test', shown)}")


@app.command("list")
def list_webhooks(
    tenant: Annotated[str, typer.Option(help="Of this tenant only.")] = "",
    last: Annotated[int, typer.Option(min=1, help="How many failed deliveries.")] = 20,
) -> None:
    """List subscriptions with their last outcome, and the deliveries that failed."""
    stack = chosen_stack()
    found = webhooks.subscriptions(stack, tenant)
    lost = webhooks.failed(stack, found)[:last]
    document = {
        "webhooks": [shapes.webhook(one) for one in found],
        "failed_deliveries": [shapes.delivery(one) for one in lost],
    }
    output.show(document, _subscriptions(found), _failed(lost))
    for one in found:
        shown = display_name(one.key)
        if one.values["status"] == SubscriptionStatus.DISABLED:
            output.say(hints.command("webhooks", "enable", shown))
        if any(other.key == one.key for other in lost):
            output.say(hints.command("webhooks", "resend", shown, ("--failed",)))


@app.command("test")
def send_test(name: Name) -> None:
    """Send a signed test event, and show the answer. Exits with 1 unless the receiver accepts it."""
    key = webhooks.parse_key(name)
    _sent(webhooks.send(chosen_stack(), key))


@app.command()
def resend(
    name: Name,
    event_id: Annotated[list[str] | None, typer.Argument(help="Ids of deliveries, as 'list' shows them.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="All that failed.")] = False,
) -> None:
    """Send deliveries again under their ids; what fails is retried for another day. Exits with 1 if one fails."""
    key, stack = webhooks.parse_key(name), chosen_stack()
    if failed == bool(event_id):
        raise typer.BadParameter("pass either ids or --failed", param_hint="EVENT_ID")
    own = [one for one in webhooks.subscriptions(stack) if one.key == key]
    ids = event_id or [one.event.id for one in webhooks.failed(stack, own)]
    for one in ids:
        webhooks.parse_key(name, one)
    answers = [webhooks.send(stack, key, one) for one in ids]
    output.document_only(
        {"deliveries": [{**_told(answer), "event_id": one} for one, answer in zip(ids, answers, strict=True)]}
    )
    output.say(f"Delivered {sum(one['delivered'] for one in answers)} of {len(answers)}.")
    for reason in dict.fromkeys(str(one["outcome"]) for one in answers if not one["delivered"]):
        output.say(f"Not delivered: {reason}")
    raise typer.Exit(0 if all(one["delivered"] for one in answers) else 1)


@app.command()
def rotate(
    name: Name,
    finish: Annotated[bool, typer.Option("--finish", help="Drop the older secret.")] = False,
) -> None:
    """Add a secret: messages are signed with both, until --finish drops the older one."""
    secret = webhooks.rotate(chosen_stack(), webhooks.parse_key(name), finish=finish)
    output.document_only({"webhook": name, "rotation": "ended" if finish else "begun"})
    _show_secret(views.console(), secret)


@app.command()
def disable(name: Name) -> None:
    """Stop sending. Events are kept as failed deliveries, for 'resend --failed'."""
    webhooks.change(chosen_stack(), webhooks.parse_key(name), active=False)
    output.show({"webhook": name, "status": "DISABLED"}, f"Disabled {name}.")


@app.command()
def enable(name: Name) -> None:
    """Send again, after 'disable' or days of failures."""
    webhooks.change(chosen_stack(), webhooks.parse_key(name), active=True)
    output.show({"webhook": name, "status": "ACTIVE"}, f"Enabled {name}.")


@app.command()
def remove(
    name: Name,
    yes: Yes = False,
) -> None:
    """Remove a subscription with its secrets. Pending deliveries are cancelled."""
    key, stack = webhooks.parse_key(name), chosen_stack()
    if not yes:
        output.ask(f"Remove {name}, with what waits to be delivered?")
    there = webhooks.remove(stack, key)
    output.show(
        {"webhook": name, "removed": there},
        f"Removed {name}." if there else f"There is no {name}; nothing was left to remove.",
    )


def _show_secret(out: Any, secret: str) -> None:
    out.print(f"Secret for the receiver: {secret}")


def _sent(answer: Any) -> None:
    output.document_only(_told(answer))
    out = views.console()
    time = f" after {answer['milliseconds']} ms" if "milliseconds" in answer else ""
    out.print(f"{'Delivered' if answer['delivered'] else 'Not delivered'}: {answer['outcome']}{time}")
    if answer.get("body"):
        out.print(answer["body"])
    raise typer.Exit(0 if answer["delivered"] else 1)


def _told(answer: Any) -> dict[str, Any]:
    """Return a response without the body, which is the receiver's."""
    return {name: answer[name] for name in ("delivered", "outcome", "milliseconds") if name in answer}


def _subscriptions(found: list[Subscription]) -> Table:
    columns = ["webhook", "address", "events", "status", "last outcome", "at", "failing since"]
    optional = ("last_outcome", "last_at", "failing_since")
    rows: list[list[RenderableType]] = [
        [
            display_name(one.key),
            Text(one.values["address"]),
            ", ".join(one.values["events"]),
            views.status(one.values["status"]),
            *(Text(str(one.values.get(name, "-"))) for name in optional),
        ]
        for one in found
    ]
    return views.copyable(views.table("Webhooks", columns, rows))


def _failed(found: list[Delivery]) -> Table:
    columns = ["webhook", "delivery", "event", "tries", "last outcome", "failed at"]
    rows: list[list[RenderableType]] = [
        [
            display_name(one.key),
            one.event.id,
            one.event.type,
            str(one.attempts),
            Text(str(one.values["last_outcome"])),
            str(one.values["failed_at"]),
        ]
        for one in found
    ]
    return views.copyable(views.table("Failed deliveries", columns, rows))
