"""`stepwise start`, `stop` and `status`: the local stack; `status` also shows a deployed one."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from stepwise.local.deployment import deploy
from stepwise.local.emulator import emulator
from stepwise.local.simulators.card_processor import secret as card_secret
from stepwise.local.simulators.payment_gateway import secret
from stepwise.local.simulators.webhook_receiver import client as webhook_receiver
from stepwise.operations import stock
from stepwise.operations.stack import STACK_NAME, Stack

from . import console_process, hints, output, views, waiting
from .console_command import default_listen
from .options import OnAws, Port, StackName, chosen_stack

_SEED = Path(__file__).with_name("seed_stock.json")


def start(
    port: Port = 4566,
    gateway: Annotated[bool, typer.Option("--gateway", help="Charge at the payment gateway simulator.")] = False,
    cards: Annotated[bool, typer.Option("--cards", help="Issue cards at the card processor simulator.")] = False,
    limits: Annotated[
        bool, typer.Option("--limits", help="Enforce AWS's limits; docs/local-engine.md lists them.")
    ] = False,
) -> None:
    """Start the local stack, deploy the template to it and seed stock. Run it again after a change to deploy it."""
    out = views.console()
    began = time.monotonic()
    with waiting.waiting("starting the emulator") as status, _stopped_if_interrupted(port):
        running = emulator.running(port)
        if running and limits:
            raise emulator.LocalStackError(
                f"limits are set when the emulator starts; stop the one at port {port} first"
            )
        if running:
            emulator.wait_until_ready(running)
        else:
            running = emulator.start(port, settings=emulator.limits() if limits else None)
        status.update("sam build, sam deploy")
        # Always passed, because an omitted parameter keeps its value from an earlier start.
        address = running.simulators["gateway"]
        chosen = secret.parameters(running.endpoint, address) if gateway else secret.NO_GATEWAY
        address = running.simulators["cards"]
        chosen |= card_secret.parameters(running.endpoint, address) if cards else card_secret.NO_PROCESSOR
        # A stack may send webhooks to its own simulator.
        webhooks = webhook_receiver.parameters(running.simulators["webhooks"])
        deploy(running.endpoint, running.log, **chosen, **webhooks)
        stack = Stack.local(running.endpoint, services=running.simulators)
        stock.seed(stack, json.loads(_SEED.read_text()))
        console = console_process.start(running, default_listen(port))
    seconds = time.monotonic() - began
    out.print(f"Serving at {running.endpoint} after {seconds:.1f} s. Stop it with {hints.command('stop')}")
    output.say(f"Console: {console}" if console else f"The console did not start: see {running.log.parent}/console.log")
    told = {"endpoint": running.endpoint, "seconds": round(seconds, 1), "console": console}
    output.show(told, views.stock(stock.listed(stack)))
    _try_next()


def _try_next() -> None:
    """What a person may try on a stack that has just started."""
    for what, command in (
        ("Place an order", hints.command("place", ("--order-id", "o-1"), ("--item", "tea-01:2:1500"))),
        ("See what it did", hints.command("logs", "o-1")),
        ("Inject a fault", hints.command("fault", "answer_lost", ("--on", "charge"), ("--order-id", "o-2"))),
        ("See what needs attention", hints.command("attention")),
    ):
        output.say(f"{what}: {command}")


@contextmanager
def _stopped_if_interrupted(port: int) -> Iterator[None]:
    """Ctrl-C, or a signal, leaves no emulator behind that was not there before."""
    before = emulator.running(port)
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        started = emulator.running(port)
        if started and started != before:
            console_process.stop(started)
            emulator.stop(started)
        raise


def stop(
    port: Port = 4566,
    everywhere: Annotated[bool, typer.Option("--everywhere", help="On all ports.")] = False,
) -> None:
    """Stop the local stack. Its data is lost."""
    running = None if everywhere else emulator.running(port)
    stopped = emulator.serving() if everywhere else [running] if running else []
    with waiting.waiting("stopping"):
        for one in stopped:
            console_process.stop(one)
            emulator.stop(one)
            output.say(f"Stopped the stack on port {one.port}.")
    if not stopped:
        output.say("Nothing is running." if everywhere else f"Nothing is running on port {port}.")
        for one in [] if everywhere else emulator.serving():
            output.say(f"One is running on port {one.port}: {hints.stopping(one.port)}")
    output.document_only({"stopped": [one.port for one in stopped]})


def status(port: Port = 4566, aws: OnAws = False, name: StackName = STACK_NAME) -> None:
    """Show whether the stack is running, with its outputs."""
    out = views.console()
    running = None if aws else emulator.running(port)
    if not aws and running is None:
        output.document_only({"running": False, "outputs": {}, "simulators": {}, "console": ""})
        out.print(f"Nothing is running on port {port}. Start it with {hints.command('start')}")
        raise typer.Exit(1)
    outputs = chosen_stack(port, aws, name).outputs
    simulators = dict(running.simulators) if running else {}
    console = console_process.address(running) if running else ""
    output.document_only({"running": True, "outputs": dict(outputs), "simulators": simulators, "console": console})
    out.print(views.table("Outputs", ["output", "value"], [[key, value] for key, value in sorted(outputs.items())]))
    if running:
        out.print(views.simulators(running.simulators))
    if console:
        output.say(f"Console: {console}")
