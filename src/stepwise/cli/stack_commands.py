"""`stepwise demo`, `start`, `stop`, `status` and `invoke`: the local stack; `status` also shows a deployed one."""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from stepwise import STACK_NAME
from stepwise.local import project
from stepwise.local.containers import containers
from stepwise.local.deployment import FAILED_CREATION, deploy, failures, require
from stepwise.local.emulator import emulator
from stepwise.local.simulators.payment_gateway import secret
from stepwise.local.simulators.webhook_receiver import client as webhook_receiver
from stepwise.operations.stack import Stack

from . import console_process, hints, output, views, waiting
from .console_command import default_listen
from .options import chosen_stack, running_emulator

_SEED = Path(__file__).with_name("seed_stock.json")


def start(
    template: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="A SAM template. Default: the project's template.yaml."),
    ] = None,
    parameter: Annotated[
        list[str] | None, typer.Option(help="A parameter of the template, NAME=VALUE; may be repeated.")
    ] = None,
    gateway: Annotated[bool, typer.Option("--gateway", help="Charge at the payment gateway simulator.")] = False,
    cards: Annotated[bool, typer.Option("--cards", help="Issue cards at the card processor simulator.")] = False,
    limits: Annotated[
        bool, typer.Option("--limits", help="Enforce AWS's limits; docs/local-engine.md lists them.")
    ] = False,
) -> None:
    """Start the local stack, and deploy the template to it. Run it again after a change to deploy it.

    The Stepwise application also gets its stock, its simulators' addresses and the console.
    """
    port, name = hints.chosen.port, hints.chosen.stack_name
    parameters = _parameters(parameter or [])
    is_application = template is None and name == STACK_NAME and project.has_application()
    if not is_application and (gateway or cards):
        raise typer.BadParameter("--gateway and --cards belong to the Stepwise application")
    file = template and template.resolve()
    require(file)
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
        if is_application:
            parameters |= _of_simulators(running, gateway, cards)
        deploy(
            running.endpoint, running.log, name=name, template=template and template.resolve(), parameters=parameters
        )
        console = ""
        if is_application:
            _seed_stock(running)
            console = console_process.start(running, default_listen(port))
    seconds = time.monotonic() - began
    output.say(f"Serving at {running.endpoint} after {seconds:.1f} s. Stop it with {hints.command('stop')}")
    told = {"endpoint": running.endpoint, "seconds": round(seconds, 1), "console": console}
    stack = Stack.local(running.endpoint, name, services=running.simulators)
    if not is_application:
        output.show(told | {"outputs": dict(stack.outputs)}, _outputs(stack.outputs))
        return
    output.say(f"Console: {console}" if console else f"The console did not start: see {running.log.parent}/console.log")
    _show_stock(told, stack)
    _try_next()


def _parameters(given: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    if wrong := [text for text, (name, equals, _) in zip(given, pairs, strict=True) if not (name and equals)]:
        raise typer.BadParameter(f"{wrong[0]!r} is not NAME=VALUE", param_hint="--parameter")
    return {name: value for name, _, value in pairs}


def _of_simulators(running: emulator.Emulator, gateway: bool, cards: bool) -> dict[str, str]:
    """Return the parameters for the simulators. Always passed, because an omitted parameter keeps its earlier value."""
    at = running.simulators
    chosen = secret.parameters(running.endpoint, at["gateway"]) if gateway else secret.NO_GATEWAY
    chosen |= secret.card_parameters(running.endpoint, at["cards"]) if cards else secret.NO_PROCESSOR
    # A stack may send webhooks to its own simulator.
    return chosen | webhook_receiver.parameters(at["webhooks"])


def _seed_stock(running: emulator.Emulator) -> None:
    project.import_application()
    from stepwise.operations import stock

    stock.seed(Stack.local(running.endpoint, services=running.simulators), json.loads(_SEED.read_text()))


def _show_stock(told: dict[str, Any], stack: Stack) -> None:
    from stepwise.operations import stock

    output.show(told, views.stock(stock.listed(stack)))


def _try_next() -> None:
    """Suggest commands to try on a stack that has just started."""
    for what, command in (
        ("Place an order", hints.command("place", ("--order-id", "o-1"), ("--item", "tea-01:2:1500"))),
        ("See what it did", hints.command("logs", "o-1")),
        ("Inject a fault", hints.command("fault", "answer_lost", ("--on", "charge"), ("--order-id", "o-2"))),
        ("See what needs attention", hints.command("attention")),
    ):
        output.say(f"{what}: {command}")


@contextmanager
def _stopped_if_interrupted(port: int) -> Iterator[None]:
    """Stop an emulator that was not running before if Ctrl-C or a signal interrupts the block."""
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
    everywhere: Annotated[bool, typer.Option("--everywhere", help="On all ports.")] = False,
) -> None:
    """Stop the local stack. Its data is lost."""
    port = hints.chosen.port
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


def status() -> None:
    """Show whether the stack is running, its outputs, and why its last deployment failed."""
    out, port, aws = views.console(), hints.chosen.port, hints.chosen.aws
    running = None if aws else emulator.running(port)
    if not aws and running is None:
        nothing = {"running": False, "status": "", "failures": [], "outputs": {}, "simulators": {}, "console": ""}
        output.document_only(nothing)
        out.print(f"Nothing is running on port {port}. Start it with {hints.command('start')}")
        raise typer.Exit(1)
    stack = chosen_stack()
    simulators = dict(running.simulators) if running else {}
    console = console_process.address(running) if running else ""
    failed = _failures(stack)
    state = {"running": stack.status not in FAILED_CREATION, "status": stack.status, "failures": failed}
    output.document_only(state | {"outputs": dict(stack.outputs), "simulators": simulators, "console": console})
    if failed:
        out.print(views.records(f"{stack.status}, because of", ["stack", "resource", "status", "reason"], failed))
    if not state["running"]:
        output.say(
            f"The stack {hints.chosen.stack_name} was not created. Delete it before you repeat that: docs/operations.md"
        )
        raise typer.Exit(1)
    out.print(_outputs(stack.outputs))
    if running:
        out.print(views.simulators(running.simulators))
    if console:
        output.say(f"Console: {console}")


def _failures(stack: Stack) -> list[dict[str, str]]:
    """Return the failed resources of the last creation or update; empty if it succeeded."""
    if "FAILED" not in stack.status and "ROLLBACK" not in stack.status:
        return []
    return [asdict(one) for one in failures(stack.client("cloudformation"), hints.chosen.stack_name)]


def _outputs(outputs: Mapping[str, str]) -> Table:
    return views.table("Outputs", ["output", "value"], [[key, value] for key, value in sorted(outputs.items())])


def demo() -> None:
    """Deploy to a temporary local stack, run real orders, show what happened, and stop it."""
    from .demo import run_demo

    run_demo()


def invoke(
    event: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="As in events/.")],
    function: Annotated[
        str, typer.Option(help="Logical id of the function, if the file is not named after its handler.")
    ] = "",
    template: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="That of `start --template`.")
    ] = None,
) -> None:
    """Run one function with an event in Docker, by `sam local invoke`, on the local stack. Exits with 1 if it fails.

    The result goes to standard output, the function's log to standard error.
    """
    running = running_emulator()
    with containers(running, template and template.resolve()) as started:
        answer = started.invoke(function or started.function(event), event)
    sys.stderr.write(answer.log)
    found = {"errorType": answer.error, "errorMessage": answer.message} if answer.error else answer.result
    sys.stdout.write(output.json_text(found) + "\n")
    raise typer.Exit(1 if answer.error else 0)
