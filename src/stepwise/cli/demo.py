"""Demonstration: real orders, users, commands, imported rows, a task and applications on a temporary stack."""

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table

from stepwise.local.deployment import deploy
from stepwise.local.drawing import Text
from stepwise.local.emulator import emulator
from stepwise.local.simulators.payment_gateway import secret
from stepwise.local.simulators.payment_gateway.client import GatewayClient
from stepwise.local.simulators.payment_gateway.faults import AnswerLost, Injection
from stepwise.operations import commands, functions, stock, tasks, user_imports
from stepwise.operations.orders import OrderView, ended, finalized, place, view
from stepwise.operations.stack import Stack
from stepwise.operations.tasks import TaskView
from tasks.state import Item, Status
from user_import.results import FAILURE, SUCCESS, Result

from . import applications_demo, command_demo, hints, order_views, output, rows_demo, views, waiting
from .command_demo import TENANT, product
from .import_command import follow, summary_table

_STOCK = {"tea-01": 10, "pot-01": 1}
_NOTES = {
    "a duplicate": "already placed; nothing was repeated",
    "a lost answer": "the retry found the first charge",
}
# Amazon Connect allows two calls a second and takes a minute to create an instance. The demonstration is faster.
QUICK = {
    "SFN_WAIT_SCALE": "0.1",
    "CONNECT_SIMULATOR_REQUESTS_PER_SECOND": "50",
    "CONNECT_SIMULATOR_BURST": "50",
    "CONNECT_SIMULATOR_ACTIVATION_SECONDS": "1",
    "CONNECT_SIMULATOR_PROFILES_SECONDS": "1",
}
_USERS = Path(__file__).with_name("demo_users.csv")
_TASK_TYPE = "rebuild-read-model"
_PUBLISHED, _LATE = ("mug-01", "mug-02"), ("mug-03", "mug-04")


def run_demo() -> None:
    """Start, deploy, place orders, import users and products, run commands, a task, applications; show them."""
    out = views.console()
    began = time.monotonic()
    with (
        waiting.waiting("starting the emulator") as status,
        emulator.attached(QUICK) as running,
        ThreadPoolExecutor(3) as beside,
    ):
        status.update("sam build, sam deploy (the first time takes longest)")
        gateway = GatewayClient(running.simulators["gateway"])
        deploy(running.endpoint, running.log, parameters=secret.parameters(running.endpoint, gateway.address))
        stack = Stack.local(running.endpoint, services=running.simulators)
        stock.seed(stack, _STOCK)
        out.print(f"Deployed template.yaml to {running.endpoint} in {time.monotonic() - began:.1f} s.")
        status.update("placing orders, importing users and products, publishing commands")
        products = beside.submit(rows_demo.run, running.endpoint)
        rebuilt = beside.submit(rebuild, running.endpoint)
        opened = beside.submit(applications_demo.run, running.endpoint)
        importing = start_import(stack)
        command_demo.start(stack)
        _show(out, stack, gateway)
        status.update("importing users")
        show_import(out, stack, importing)
        command_demo.show(out, stack)
        out.print(products.result())
        out.print(rebuilt.result())
        out.print(opened.result())
    out.print(f"Done in {time.monotonic() - began:.1f} s; everything is stopped.")
    output.document_only({"seconds": round(time.monotonic() - began, 1)})
    for what, command in (
        ("Keep a stack, and place orders on it", hints.command("start", ("--gateway",))),
        ("See what it can do", hints.command(("--help",))),
    ):
        output.say(f"{what}: {command}")


def _show(out: Console, stack: Stack, gateway: GatewayClient) -> None:
    before = stock.on_hand(stack)
    success = _order("o-1001", "tea-01", 2, 1500)
    orders = {
        "a success": success,
        "a decline": _order("o-1002", "tea-01", 1, 1500, token="tok_declined"),
        "out of stock": _order("o-1003", "pot-01", 2, 9000),
        "a lost answer": _order("o-1004", "tea-01", 1, 1500),
    }
    gateway.inject(Injection(AnswerLost(), on="charge", order_id="o-1004"))
    for order in orders.values():
        place(stack, order)
    for order in orders.values():
        ended(stack, order["order_id"])
    views_by_title = {title: finalized(stack, order["order_id"]) for title, order in orders.items()}
    views_by_title["a duplicate"] = _placed_again(stack, success)
    out.print(order_views.summary(views_by_title, _NOTES))
    out.print(_charges(gateway, orders))
    out.print(order_views.order(views_by_title["out of stock"]))
    out.print(_stock_moves(before, stock.on_hand(stack)))
    out.print(_delivered_twice(stack, success))


def _order(order_id: str, sku: str, quantity: int, unit_price: int, *, token: str = "tok_visa") -> dict[str, Any]:
    return {
        "order_id": order_id,
        "customer_id": "c-7",
        "currency": "JPY",
        "items": [{"sku": sku, "quantity": quantity, "unit_price": unit_price}],
        "payment": {"method": "card", "token": token},
    }


def _placed_again(stack: Stack, order: dict[str, Any]) -> OrderView:
    if not place(stack, order).again:
        raise AssertionError("the stack took the same order twice")
    return view(stack, order["order_id"])


def _charges(gateway: GatewayClient, orders: dict[str, dict[str, Any]]) -> Any:
    """Return the gateway's requests and money for each order."""
    ledger = gateway.ledger()
    charges = {charge["order_id"]: charge for charge in ledger["charges"]}
    found = {title: charges.get(order["order_id"], {}) for title, order in orders.items()}
    rows = [
        [title, *_at_gateway(ledger["requests"].get(charge.get("key"), {}), charge)] for title, charge in found.items()
    ]
    columns = ["what", "charge requests", "look-ups", "cancels", "status", "amount", "refunded"]
    return views.table("The payment gateway's own ledger", columns, rows)


def _at_gateway(asked: dict[str, int], charge: dict[str, Any]) -> list[str]:
    counted = [str(asked.get(kind, 0)) for kind in ("charge", "lookup", "cancel")]
    return counted + [str(charge.get(field, "-")) for field in ("status", "amount", "refunded")]


def _delivered_twice(stack: Stack, order: dict[str, Any]) -> Any:
    """Invoke each step's function again with the same event, as Lambda may do."""
    rows = [[step, _invoke_again(stack, step, order)] for step in view(stack, order["order_id"]).steps]
    title = "The success, with each function delivered again: the stored result, and no new row"
    return views.table(title, ["function", "answer"], rows)


def _invoke_again(stack: Stack, step: str, order: dict[str, Any]) -> str:
    answer = functions.invoke(stack.client("lambda"), stack.outputs[f"{step}FunctionArn"], order)
    return str(answer["Payload"].read().decode())


def _stock_moves(before: dict[str, int], after: dict[str, int]) -> Any:
    rows = [[sku, str(count), str(after[sku])] for sku, count in before.items()]
    return views.table("Stock", ["SKU", "before", "after"], rows)


def start_import(stack: Stack) -> str:
    """Start the import of the file. Returns its name."""
    return user_imports.start(stack, _USERS)


def show_import(out: Console, stack: Stack, name: str) -> None:
    """Follow the import to its end, and show the result of each row."""
    follow(stack, name, out)
    ended = user_imports.summary(stack, name)
    out.print(results_table(user_imports.results(stack, ended)))
    out.print(summary_table(ended))


def results_table(results: Iterable[Result]) -> Table:
    """Build a table with one line per row of the file."""
    rows: list[list[RenderableType]] = [
        [str(result.csv_row), _word(result), result.user_id or "-", result.error_message] for result in results
    ]
    return views.table("Users imported from a CSV file", ["CSVRowNumber", "result", "UserId", "errorMessage"], rows)


def _word(result: Result) -> Text:
    return Text(SUCCESS, style="green") if result.succeeded else Text(FAILURE, style="red")


def rebuild(endpoint: str) -> Table:
    """Rebuild the read models of products, some of which are published only then; then retry."""
    stack = Stack.local(endpoint)
    _publish(stack, *_PUBLISHED)
    items = [{"pk": f"TENANT#{TENANT}", "sk": f"PRODUCT#{code}"} for code in (*_PUBLISHED, *_LATE)]
    key = tasks.create(stack, {"task_type": _TASK_TYPE, "tenant_code": TENANT, "task_id": "rebuild-1", "items": items})
    *_, first = tasks.follow(stack, key)
    _publish(stack, *_LATE)
    tasks.retry(stack, key)
    *_, second = tasks.follow(stack, key)
    rows: list[list[RenderableType]] = [
        [item["sk"], _item_shown(before), _item_shown(after), str(after.attempts)]
        for item, before, after in zip(items, first.items, second.items, strict=True)
    ]
    columns = ["item", _titled("first", first), _titled("retry", second), "runs"]
    return views.table("A task of four items, and the retry of the failed ones", columns, rows)


def _titled(attempt: str, seen: TaskView) -> str:
    return f"{attempt}: {seen.task.status}"


def _item_shown(item: Item) -> Text:
    if item.status is Status.COMPLETED:
        targets = item.values["result"]["targets"]
        return Text(", ".join(f"{name} shows {version}" for name, version in targets.items()), style="green")
    return Text(f"{item.error.type}: {item.error.message}" if item.error else str(item.status), style="red")


def _publish(stack: Stack, *codes: str) -> None:
    for code in codes:
        commands.publish(stack, product(code, 1, 1200, mode="sync"))
