"""The command line, the same for the local stack and for AWS."""

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from local.deployment import deploy
from local.emulator import emulator
from local.simulators.payment_gateway import secret
from local.simulators.webhook_receiver import client as webhook_receiver
from operations import commands, recovery, report, stock
from operations.orders import Execution, ended, finalized, follow, place, view
from operations.stack import STACK_NAME, Stack

from . import command_views, import_command, invoke_command, views, work_commands
from .commands import app as commands_app
from .demo import run_demo
from .imports import app as imports_app
from .options import OnAws, Port, StackName, chosen_stack
from .queues import app as queues_app
from .replay_command import replay
from .tasks import app as tasks_app
from .webhooks import app as webhooks_app

app = typer.Typer(
    help="Order sagas, commands, tasks, imports of rows and of users on a local stack or, with --aws, a deployed one.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(work_commands.app, name="work")
app.add_typer(commands_app, name="commands")
app.add_typer(imports_app, name="imports")
app.add_typer(queues_app, name="queues")
app.add_typer(tasks_app, name="tasks")
app.add_typer(webhooks_app, name="webhooks")
app.command("invoke")(invoke_command.invoke)
app.command("import")(import_command.import_users)
app.command("replay")(replay)

RECOVERY_SECONDS = 43_200
"""The life of order-recovery."""
_SEED = Path(__file__).with_name("seed_stock.json")

OrderId = Annotated[str, typer.Argument(help="The order's id.")]


@app.command()
def start(
    port: Port = 4566,
    gateway: Annotated[bool, typer.Option("--gateway", help="Charge at the payment gateway simulator.")] = False,
    limits: Annotated[
        bool, typer.Option("--limits", help="Enforce AWS's limits; docs/local-engine.md lists them.")
    ] = False,
) -> None:
    """Start the local stack, deploy the template to it and seed stock. Run it again after a change to deploy it."""
    out = views.console()
    began = time.monotonic()
    with out.status("starting the emulator") as status:
        running = emulator.running(port)
        if running and limits:
            raise emulator.LocalStackError(
                f"limits are set when the emulator starts; stop the one at port {port} first"
            )
        running = running or emulator.start(port, settings=emulator.limits() if limits else None)
        status.update("sam build, sam deploy")
        # Always passed, because an omitted parameter keeps its value from an earlier start.
        address = running.simulators["gateway"]
        chosen = secret.parameters(running.endpoint, address) if gateway else secret.NO_GATEWAY
        # A stack may send webhooks to its own simulator.
        webhooks = webhook_receiver.parameters(running.simulators["webhooks"])
        deploy(running.endpoint, running.log, **chosen, **webhooks)
        stack = Stack.local(running.endpoint, services=running.simulators)
        stock.seed(stack, json.loads(_SEED.read_text()))
    seconds = time.monotonic() - began
    out.print(f"Serving at {running.endpoint} after {seconds:.1f} s. Stop it with './stepwise stop --port {port}'.")
    out.print(views.stock(stock.on_hand(stack)))


@app.command()
def stop(
    port: Port = 4566,
    everywhere: Annotated[bool, typer.Option("--everywhere", help="On all ports.")] = False,
) -> None:
    """Stop the local stack. Its data is lost."""
    out = views.console()
    if everywhere:
        for one in emulator.running_anywhere():
            emulator.stop(one)
        return
    running = emulator.running(port)
    if running is None:
        out.print(f"Nothing is running on port {port}.")
        return
    with out.status("stopping"):
        emulator.stop(running)
    out.print(f"Stopped the stack on port {port}.")


@app.command()
def status(port: Port = 4566, aws: OnAws = False, name: StackName = STACK_NAME) -> None:
    """Show whether the stack is running, with its outputs."""
    out = views.console()
    running = None if aws else emulator.running(port)
    if not aws and running is None:
        out.print(f"Nothing is running on port {port}; start it with 'make up'.")
        raise typer.Exit(1)
    outputs = chosen_stack(port, aws, name).outputs
    out.print(views.table("Outputs", ["output", "value"], [[key, value] for key, value in sorted(outputs.items())]))
    if running:
        out.print(views.simulators(running.simulators))


@app.command("place")
def place_order(
    file: Annotated[Path | None, typer.Option(help="Order as JSON; - reads standard input.")] = None,
    order_id: Annotated[str, typer.Option(help="1 to 80 letters, digits, - and _. A new one for each order.")] = "",
    customer: Annotated[str, typer.Option(help="The customer's id.")] = "c-1",
    currency: Annotated[str, typer.Option(help="Three letters, as in ISO 4217.")] = "JPY",
    item: Annotated[list[str] | None, typer.Option(help="SKU:QUANTITY:UNIT_PRICE; may be repeated.")] = None,
    token: Annotated[str, typer.Option(help="Payment token; tok_declined is declined.")] = "tok_visa",
    wait: Annotated[bool, typer.Option("--follow/--no-follow", help="Follow the order to its end.")] = True,
    port: Port = 4566,
    aws: OnAws = False,
    name: StackName = STACK_NAME,
) -> None:
    """Place an order, from a file or from options, and follow it to its end. Exits with 1 if the order fails."""
    document = _document(file) if file else _from_options(order_id, customer, currency, item or [], token)
    stack = chosen_stack(port, aws, name)
    placement = place(stack, document)
    out = views.console()
    if placement.again:
        out.print(f"Order {placement.order_id} was placed before; nothing runs twice.")
    if not wait:
        out.print(f"Placed order {placement.order_id}; see 'show {placement.order_id}'.")
        return
    last = _followed(stack, placement.order_id)
    out.print(views.order(finalized(stack, placement.order_id)))
    raise typer.Exit(0 if last.status == "SUCCEEDED" else 1)


@app.command()
def show(order_id: OrderId, port: Port = 4566, aws: OnAws = False, name: StackName = STACK_NAME) -> None:
    """Show an order: rows, step records, and the states of its saga."""
    views.console().print(views.order(view(chosen_stack(port, aws, name), order_id)))


@app.command()
def recover(
    order_id: OrderId,
    file: Annotated[Path | None, typer.Option(help="The order as placed, if its saga had another name.")] = None,
    forward: Annotated[bool, typer.Option("--forward", help="Continue a held execution instead.")] = False,
    port: Port = 4566,
    aws: OnAws = False,
    name: StackName = STACK_NAME,
) -> None:
    """Undo what a failed saga left, and follow the recovery to its end. Exits with 1 if something is left."""
    stack, out = chosen_stack(port, aws, name), views.console()
    if forward:
        recovery.redrive(stack, order_id)
        last = _followed(stack, order_id)
        out.print(views.order(finalized(stack, order_id)))
        raise typer.Exit(0 if last.status == "SUCCEEDED" else 1)
    execution_name = recovery.recover(stack, order_id, _document(file) if file else None)
    with out.status(f"recovering {order_id}"):
        last = ended(stack, execution_name, seconds=RECOVERY_SECONDS, output="OrderRecoveryArn")
    out.print(views.states(last))
    out.print(views.order(view(stack, order_id)))
    raise typer.Exit(0 if last.status == "SUCCEEDED" else 1)


@app.command()
def attention(port: Port = 4566, aws: OnAws = False, name: StackName = STACK_NAME) -> None:
    """List what needs a person: orders with something left to undo, keys that are blocked, targets that lag behind."""
    stack, out = chosen_stack(port, aws, name), views.console()
    out.print(views.attention(recovery.needing_attention(stack)))
    out.print(command_views.blocked(commands.blocked(stack)))
    out.print(command_views.lagging(commands.lagging(stack)))


@app.command("stock")
def show_stock(port: Port = 4566, aws: OnAws = False, name: StackName = STACK_NAME) -> None:
    """Show the stock on hand."""
    views.console().print(views.stock(stock.on_hand(chosen_stack(port, aws, name))))


@app.command()
def seed(
    pieces: Annotated[list[str], typer.Argument(metavar="SKU=PIECES...", help="Stock for SKUs that have none yet.")],
    port: Port = 4566,
    aws: OnAws = False,
    name: StackName = STACK_NAME,
) -> None:
    """Stock SKUs that have no stock yet. Existing stock does not change."""
    wanted = dict(_pieces(text) for text in pieces)
    stack = chosen_stack(port, aws, name)
    kept = stock.seed(stack, wanted)
    out = views.console()
    if kept:
        out.print(f"Already stocked, not changed: {', '.join(kept)}")
    out.print(views.stock(stock.on_hand(stack)))


@app.command("report")
def show_report(
    day: Annotated[str, typer.Option("--date", help="Day of the orders' creation, YYYY-MM-DD. Default: today.")] = "",
    port: Port = 4566,
    aws: OnAws = False,
    name: StackName = STACK_NAME,
) -> None:
    """Show orders and revenue of a day, by status and currency."""
    day = day or datetime.now(UTC).date().isoformat()
    views.console().print(views.report(day, report.lines(chosen_stack(port, aws, name), day)))


@app.command()
def demo() -> None:
    """Deploy to a temporary local stack, run real orders, show what happened, and stop it."""
    run_demo()


def _document(file: Path) -> Any:
    try:
        return json.loads(sys.stdin.read() if str(file) == "-" else file.read_text())
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{file}: {error}", param_hint="--file") from None


def _from_options(order_id: str, customer: str, currency: str, items: list[str], token: str) -> dict[str, Any]:
    if not (order_id and items):
        raise typer.BadParameter("pass --file, or --order-id and at least one --item", param_hint="place")
    return {
        "order_id": order_id,
        "customer_id": customer,
        "currency": currency,
        "items": [_item(text) for text in items],
        "payment": {"method": "card", "token": token},
    }


def _item(text: str) -> dict[str, Any]:
    try:
        sku, quantity, unit_price = text.split(":")
        return {"sku": sku, "quantity": int(quantity), "unit_price": int(unit_price)}
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not SKU:QUANTITY:UNIT_PRICE", param_hint="--item") from None


def _pieces(text: str) -> tuple[str, int]:
    sku, _, count = text.partition("=")
    if not (sku and count.isdecimal()):
        raise typer.BadParameter(f"{text!r} is not SKU=PIECES", param_hint="SKU=PIECES")
    return sku, int(count)


def _followed(stack: Stack, order_id: str) -> Execution:
    with views.console().status(f"order {order_id}") as status:
        for execution in follow(stack, order_id):
            if execution.states:
                status.update(f"order {order_id}: {execution.states[-1].name}")
    return ended(stack, order_id)
