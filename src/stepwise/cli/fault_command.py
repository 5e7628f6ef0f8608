"""`stepwise fault`: faults of the simulators, so that a failure can be tried before it happens."""

from typing import Annotated, Any

import typer

from . import output
from .options import running_emulator

_GATEWAY = ("charge", "lookup", "cancel", "any")
_WEBHOOK = "webhook"
_OF_CONNECT = {
    "answer_lost": {"lose": "answer"},
    "request_lost": {"lose": "request"},
    "fails_before": {"code": "ThrottlingException"},
}


def fault(
    kind: Annotated[
        str,
        typer.Argument(
            help="Gateway: slow_before, slow_working, slow_after, fails_before, fails_after, request_lost, "
            "answer_lost, answer_cut, delivered_again, garbage. "
            "Connect: answer_lost, request_lost, fails_before, slow_before. "
            "Webhook: status, hang, drop, drip, endless."
        ),
    ],
    on: Annotated[
        str, typer.Option(help="charge, lookup, cancel, any; webhook; or an operation of Connect, such as CreateUser.")
    ] = "any",
    order_id: Annotated[str, typer.Option(help="Of the gateway's requests: only those of this order.")] = "",
    times: Annotated[int | None, typer.Option(min=1, help="How many requests. Default: the next one.")] = None,
    probability: Annotated[
        float | None, typer.Option(min=0, max=1, help="Each request, with this probability; not for Connect.")
    ] = None,
    ms: Annotated[int, typer.Option(min=0, max=600_000, help="For slow_...: how long.")] = 3000,
    status: Annotated[int, typer.Option(min=200, max=599, help="For fails_... and status: of the answer.")] = 500,
) -> None:
    """Let a simulator of the local stack fail: `fault answer_lost --on charge` loses the answer to the next charge."""
    running = running_emulator()
    document: dict[str, Any] = {"times": times or (None if probability else 1), "probability": probability}
    given = {name: value for name, value in document.items() if value is not None}
    if on in _GATEWAY:
        target = _gateway(running.simulators["gateway"], kind, on, order_id, ms, status, given)
    elif on == _WEBHOOK:
        target = _webhook(running.simulators["webhooks"], kind, ms, status, given)
    else:
        target = _connect(running.simulators["connect"], kind, on, times or 1, ms)
    output.show({"simulator": target, "fault": kind, "on": on, **given}, f"The {target} simulator gets {kind} on {on}.")


def _gateway(address: str, kind: str, on: str, order_id: str, ms: int, status: int, given: dict[str, Any]) -> str:
    import msgspec

    from stepwise.local.simulators.payment_gateway.client import GatewayClient
    from stepwise.local.simulators.payment_gateway.faults import Injection

    details = {"ms": ms} if kind.startswith("slow_") else {"status": status} if kind.startswith("fails_") else {}
    document = {"fault": {"kind": kind, **details}, "on": on, "order_id": order_id or None, **given}
    try:
        GatewayClient(address).inject(msgspec.convert(document, Injection))
    except msgspec.ValidationError as error:
        raise typer.BadParameter(f"{kind}: {error}; see --help", param_hint="KIND") from None
    return "gateway"


def _webhook(address: str, kind: str, ms: int, status: int, given: dict[str, Any]) -> str:
    import msgspec

    from stepwise.local.simulators.webhook_receiver.client import ReceiverClient
    from stepwise.local.simulators.webhook_receiver.faults import Injection

    pause: dict[str, Any] = {"seconds": ms / 1000}
    details = {"status": {"code": status}, "hang": pause, "drip": pause}.get(kind, {})
    try:
        ReceiverClient(address).inject(msgspec.convert({"fault": {"type": kind, **details}, **given}, Injection))
    except msgspec.ValidationError as error:
        raise typer.BadParameter(f"{kind}: {error}; see --help", param_hint="KIND") from None
    return "webhooks"


def _connect(address: str, kind: str, operation: str, times: int, ms: int) -> str:
    from stepwise.local.simulators.connect.remote_control import RemoteControl

    details: dict[str, Any] | None = {"delay_seconds": ms / 1000} if kind == "slow_before" else _OF_CONNECT.get(kind)
    if details is None:
        known = ", ".join(sorted([*_OF_CONNECT, "slow_before"]))
        raise typer.BadParameter(f"{kind!r} is none of {known}, which Connect's simulator has", param_hint="KIND")
    try:
        RemoteControl(address).fault(operation, times=times, **details)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--on") from None
    return "connect"
