"""`stepwise place`, `show` and `recover`: one order."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import typer

from ordering.requests import parse_order
from stepwise.local.drawing import Text
from stepwise.operations import recovery
from stepwise.operations.orders import Execution, ended, finalized, follow, place, require_id, view, watched
from stepwise.operations.stack import Stack
from stepwise.operations.values import whole_number

from . import hints, order_views, output, shapes, views, waiting
from .checks import read_json
from .options import chosen_stack
from .waiting import interrupted

RECOVERY_SECONDS = 43_200
"""Maximum duration of order-recovery."""

OrderId = Annotated[str, typer.Argument(help="The order's id.")]


def place_order(
    file: Annotated[Path | None, typer.Option(help="Order as JSON; - reads standard input.")] = None,
    order_id: Annotated[
        str | None, typer.Option(help="1 to 80 letters, digits, - and _. A new one for each order.")
    ] = None,
    customer: Annotated[str | None, typer.Option(help="The customer's id. Default: c-1.")] = None,
    currency: Annotated[str | None, typer.Option(help="Three letters, as in ISO 4217. Default: JPY.")] = None,
    item: Annotated[list[str] | None, typer.Option(help="SKU:QUANTITY:UNIT_PRICE; may be repeated.")] = None,
    token: Annotated[
        str | None, typer.Option(help="Payment token; tok_declined is declined. Default: tok_visa.")
    ] = None,
    wait: Annotated[bool, typer.Option("--follow/--no-follow", help="Follow the order to its end.")] = True,
) -> None:
    """Place an order, from a file or from options, and follow it to its end. Exits with 1 if the order fails."""
    options = {"--order-id": order_id, "--customer": customer, "--currency": currency, "--token": token}
    given = [option for option, value in options.items() if value is not None] + (["--item"] if item else [])
    if file and given:
        raise typer.BadParameter(f"the order comes from --file; leave out {', '.join(given)}", param_hint="--file")
    document = read_json(file, "--file") if file else _from_options(order_id, customer, currency, item or [], token)
    parse_order(document)
    stack = chosen_stack()
    placement = place(stack, document)
    out = views.console()
    if placement.again:
        out.print(f"Order {placement.order_id} was placed before; nothing runs twice.")
    if not wait:
        output.document_only({"order_id": placement.order_id, "again": placement.again})
        out.print(f"Placed order {placement.order_id}. See {hints.command('show', placement.order_id)}")
        return
    with _comes_back(placement.order_id):
        last = _followed(stack, placement.order_id)
        seen = finalized(stack, placement.order_id)
        output.show({**shapes.order(seen), "again": placement.again}, order_views.order(seen))
    raise typer.Exit(0 if last.status == "SUCCEEDED" else 1)


def show(
    order_id: OrderId,
    watch: Annotated[bool, typer.Option("--watch", help="Until its saga and recovery have ended.")] = False,
) -> None:
    """Show an order: saga and recovery in one line each, with their causes; rows, step records and states."""
    require_id(order_id)
    stack = chosen_stack()
    if not watch:
        seen = view(stack, order_id)
        output.show(shapes.order(seen), order_views.order(seen))
        return
    with _comes_back(order_id):
        output.document_only(shapes.order(order_views.watch(watched(stack, order_id))))


def recover(
    order_id: OrderId,
    file: Annotated[Path | None, typer.Option(help="The order as placed, if no execution has it any more.")] = None,
    forward: Annotated[bool, typer.Option("--forward", help="Continue a held execution instead.")] = False,
) -> None:
    """Undo what a failed saga left, and follow the recovery to its end. Exits with 1 if anything is not undone."""
    if forward and file:
        raise typer.BadParameter("a continued execution has its own input", param_hint="--file")
    require_id(order_id)
    document = read_json(file, "--file") if file else None
    stack = chosen_stack()
    if forward:
        recovery.redrive(stack, order_id)
        with _comes_back(order_id):
            last = _followed(stack, order_id)
            seen = finalized(stack, order_id)
    else:
        execution_name = recovery.recover(stack, order_id, document)
        with _comes_back(order_id), waiting.waiting(f"recovering {order_id}"):
            last = ended(stack, execution_name, seconds=RECOVERY_SECONDS, output="OrderRecoveryArn")
            seen = finalized(stack, order_id, undone=last.status == "SUCCEEDED")
    output.show(shapes.order(seen), order_views.order(seen))
    raise typer.Exit(0 if last.status == "SUCCEEDED" else 1)


def _from_options(
    order_id: str | None, customer: str | None, currency: str | None, items: list[str], token: str | None
) -> dict[str, Any]:
    if order_id is None or not items:
        raise typer.BadParameter("pass --file, or --order-id and at least one --item", param_hint="place")
    return {
        "order_id": order_id,
        "customer_id": "c-1" if customer is None else customer,
        "currency": "JPY" if currency is None else currency,
        "items": [_item(text) for text in items],
        "payment": {"method": "card", "token": "tok_visa" if token is None else token},
    }


def _item(text: str) -> dict[str, Any]:
    try:
        sku, quantity, unit_price = text.split(":")
        return {"sku": sku, "quantity": whole_number(quantity), "unit_price": whole_number(unit_price)}
    except ValueError:
        message = f"{text!r} is not SKU:QUANTITY:UNIT_PRICE with numbers in digits from 0 to 9"
        raise typer.BadParameter(message, param_hint="--item") from None


def _comes_back(order_id: str) -> AbstractContextManager[None]:
    return interrupted(f"The order continues. Come back with {hints.command('show', order_id, ('--watch',))}")


def _followed(stack: Stack, order_id: str) -> Execution:
    with waiting.waiting(f"order {order_id}") as status:
        for execution in follow(stack, order_id):
            status.update(Text(f"order {order_id}: ").append_text(order_views.path(execution)))
    return ended(stack, order_id)
