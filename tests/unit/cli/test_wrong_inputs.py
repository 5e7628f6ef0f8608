"""Invalid input never causes a traceback: it is refused with a message and its own exit code."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, reduce
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import cycle
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from unittest import mock

import pytest
import typer

from stepwise.cli import exits
from stepwise.cli.app import app
from stepwise.cli.grammar import leaves
from stepwise.local.emulator.emulator import free_port
from stepwise.operations.stack import Stack
from tests.kit.bad_orders import BAD_ORDERS
from tests.kit.command_line import Ended, stepwise
from tests.kit.command_line_stacks import FAILURES, SIGNALS, failing
from tests.kit.openings import application
from tests.kit.orders import good_order

pytestmark = pytest.mark.slow

FILE, FOLDER, DEEP, BINARY, NOWHERE = "{file}", "{folder}", "{deep}", "{binary}", "{nowhere}"
ORDER, CSV, APPLICATION = "{order}", "{csv}", "{application}"


@dataclass(frozen=True)
class Wrong:
    """A wrong call. words: the command line. told: part of the output. stack: the server; by default, none."""

    words: tuple[str, ...]
    told: str = ""
    stack: str = ""
    text: str = ""

    def __str__(self) -> str:
        return " ".join([*self.words, *([f"({self.stack})"] if self.stack else [])])[:80]


def wrong(call: str, *more: str, told: str = "", stack: str = "", text: str = "") -> Wrong:
    return Wrong((*call.split(), *more), told, stack, text)


# Long, short, foreign, hostile: none is a valid order id.
BAD_IDS = ("", " ", "a" * 81, "o 1", "o/1", "../x", "o#1", "注文", "o'1", 'o"1', "o\n1", "o;ls", "$(x)", "%00", "[red]")
BAD_REASONS = ("", "   ", "w" * 1001)
BAD_PORTS = ("0", "-1", "22", "1023", "65536", "99999999999", "4566.5", "http", "", "0x11")
BAD_DAYS = ("yesterday", "2026-13-01", "2026-02-30", "20-01-01", "2026/01/01", "2026-11-22T00:00", "0", "-1")
BAD_TIMES = (
    *("9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "2026-02-30", "2026-01-01T24:00:00Z"),
    *(
        "2026-01-01T00:00:60Z",
        "2026-01-01T00:00:00+24:00",
        "0001-01-01",
        "1969-12-31T23:59:59Z",
        "٣d",
        "２０２６-01-01",
    ),
)
BAD_NUMBERS = ("1_0", "１", "٣", "+1", " 1", "1 ", "0x1", "1.0", "", "9" * 5000)
BAD_FILES = {NOWHERE: "", FOLDER: "", BINARY: "", DEEP: "nested deeper than 64 levels", CSV: ""}

VALUES = {
    "orders place": ("--order-id", "o-1", "--item", "tea-01:1:5"),
    "place": ("--file", ORDER),
    "orders replay": ("--order-id", "o-1"),
    "replay": ("--all",),
    "stock add": ("tea-01", "1", "--reason", "r"),
    "stock set": ("tea-01", "1", "--reason", "r"),
    "stock seed": ("tea-01=1",),
    "stock shard": ("tea-01", "--into", "2"),
    "seed": ("tea-01=1",),
    "work release": ("o-1", "ChargeCard", "--reason", "r"),
    "work resolve": ("o-1", "ChargeCard", "--reason", "r", "--result", "1"),
    "imports create": (CSV, "--tenant", "t1", "--type", "PRODUCT"),
    "tasks create": (FILE, "--tenant", "t1", "--type", "PRODUCT"),
    "webhooks add": ("https://example.com/hook", "--event", "order"),
    "webhooks resend": ("t1/wh_1", "--failed"),
    "webhooks remove": ("t1/wh_1", "--yes"),
    "queues redrive": ("JobFailuresQueue", "--yes"),
    "fault": ("answer_lost", "--on", "charge"),
    "applications submit": (APPLICATION,),
    "applications limits set": ("max_customers_at_address", "3"),
    "commands rebuild": ("catalog", "--key", "t1/PRODUCT#1"),
}
# Commands that start a stack, need none, or wait for one.
ALONE = ("console", "demo", "start", "stop", "completion", "invoke", "fault")


def _every_command() -> Iterator[tuple[str, ...]]:
    """Every command that uses a stack, with values for its required arguments; also those of future contexts."""
    for words, command in leaves(typer.main.get_command(app)):
        if words[0] in ALONE:
            continue
        values = VALUES.get(" ".join(words))
        if values is None:
            required = [one for one in command.params if one.required]
            values = tuple(word for one in required for word in _value(one.name, one.opts[0]))
        yield (*words, *values)


def _value(name: str, option: str) -> tuple[str, ...]:
    value = CSV if name == "file" else "t1/PRODUCT#x" if name in ("key_name", "name", "of") else "x-1"
    return (option, value) if option.startswith("-") else (value,)


COMMANDS = list(_every_command())
ROWS = [
    *(Wrong(words) for words in COMMANDS[::3]),
    # Each command with one failure, and each failure with many commands.
    *(Wrong(words, stack=failure) for words, failure in zip(COMMANDS, cycle(FAILURES), strict=False)),
    *(Wrong(words, stack=name) for words in COMMANDS[::9] for name in SIGNALS),
    *(wrong("stock list --port", port, told="port") for port in BAD_PORTS),
    *(wrong("start --port", port, told="port") for port in BAD_PORTS),
    *(wrong("console --listen", port, told="listen") for port in ("-1", "65536", "eighty")),
    *(wrong(command, one) for command in ("show", "recover", "orders replay --order-id") for one in BAD_IDS),
    *(wrong("place --item tea-01:1:5 --order-id", one, told="order_id") for one in BAD_IDS),
    *(wrong("place --file -", text=json.dumps(bad.document), told="InvalidOrder") for bad in BAD_ORDERS[::3]),
    *(wrong("place --file", file, told=told or "--file") for file, told in BAD_FILES.items()),
    *(wrong("recover o-1 --file", file, told=told or "--file") for file, told in BAD_FILES.items()),
    *(wrong("commands publish", file, told=told or "FILE") for file, told in BAD_FILES.items()),
    *(wrong("applications submit", file, told=told or "FILE") for file, told in BAD_FILES.items()),
    *(
        wrong("applications submit -", text=json.dumps({**application(), field: value}), told=field)
        for field, value in (("application_id", "a 1"), ("name", " "), ("date_of_birth", "2026-02-30"), ("more", 1))
    ),
    *(
        wrong(f"{things} {verb}", one, told="printable")
        for things, verb in (
            ("applications", "show"),
            ("applications", "recover"),
            ("approvals", "show"),
            ("jobs", "show"),
        )
        for one in ("", "a\nb", "😀" * 600)
    ),
    *(wrong("tasks create --tenant t1 --type PRODUCT", file) for file in BAD_FILES),
    *(wrong("import", file, told="FILE") for file in (NOWHERE, FOLDER)),
    *(wrong("imports create --tenant t1 --type PRODUCT", file, told="FILE") for file in (NOWHERE, FOLDER)),
    *(wrong("invoke", file) for file in (NOWHERE, FOLDER, FILE)),
    *(
        wrong("place --file", ORDER, *one.split(), told=one.split()[0])
        for one in ("--order-id o-2", "--item tea:1:1", "--token tok_visa", "--customer c-1", "--currency JPY")
    ),
    *(
        wrong("place --order-id o-1 --item", one, told="--item")
        for one in ("tea", "tea:1", "tea:1:1:1", "tea:x:1", "tea:1:y", "", "tea:1.5:1", f"tea:{'9' * 5000}:1")
    ),
    *(
        wrong("place --order-id o-1 --item", one, told="InvalidOrder")
        for one in (":1:1", "tea:0:1", "tea:-1:1", "tea:1:-1", "a#b:1:1", "tea:10001:1", "tea:1:99999999999")
    ),
    *(wrong("report --date", day, told="YYYY-MM-DD") for day in BAD_DAYS),
    *(wrong("replay --date", day, told="YYYY-MM-DD") for day in BAD_DAYS),
    *(
        wrong(f"work {verb} o-1 ChargeCard {more} --reason", one, told="reason")
        for one in BAD_REASONS
        for verb, more in (("release", ""), ("resolve", "--result 1"))
    ),
    *(wrong(f"stock {verb} tea-01 1 --reason", one, told="reason") for one in BAD_REASONS for verb in ("add", "set")),
    *(
        wrong("work resolve o-1 ChargeCard --reason r --error", one, told="NAME:MESSAGE")
        for one in ("foo", "", ":", "foo:", ":bar", "foo: ", "a b: c", "1x: y")
    ),
    *(
        wrong("work resolve o-1 ChargeCard --reason r --result", one, told="--result")
        for one in ("", "{", "NaN", "Infinity", "'x'", "tok")
    ),
    *(
        wrong(f"work {verb}", "", *more, told="ID")
        for verb, more in (
            ("show", ()),
            ("release", ("ChargeCard", "--reason", "r")),
            ("resolve", ("ChargeCard", "--reason", "r")),
        )
    ),
    *(wrong("work show", one, told="ID") for one in (" ", "x" * 3000, "a\nb")),
    *(
        wrong("seed", *one)
        for one in (
            ("tea",),
            ("tea=",),
            ("=1",),
            ("tea=-1",),
            ("tea=1.5",),
            ("tea=x",),
            ("a=1", "a=2"),
            (f"tea={'9' * 40}",),
        )
    ),
    *(
        wrong(f"stock {verb}", "tea-01", one, "--reason", "r")
        for verb in ("add", "set")
        for one in ("x", "1.5", "", "99999999999999")
    ),
    wrong("stock add tea-01 0 --reason r"),
    *(wrong("stock shard tea-01 --into", number, told="into") for number in ("0", "65", "-1", "x")),
    wrong("stock shard tea-01", told="into"),
    *(wrong("orders list --since", since, told="--since") for since in BAD_TIMES),
    *(wrong("logs o-1 --since", since, told="--since") for since in BAD_TIMES),
    *(wrong("commands show t1/PRODUCT#1 --at", at, told="--at") for at in (*BAD_TIMES[:4], "٣", "9" * 5000)),
    *(wrong("place --order-id o-1 --item", f"tea-01:{number}:1", told="--item") for number in BAD_NUMBERS),
    *(wrong("place --order-id o-1 --item", f"tea-01:1:{number}", told="--item") for number in BAD_NUMBERS),
    *(wrong("seed", f"tea-01={number}", told="SKU=PIECES") for number in BAD_NUMBERS),
    *(wrong("stock add tea-01", number, "--reason", "r", told="pieces") for number in BAD_NUMBERS),
    *(wrong("orders list --last", number, told="--last") for number in BAD_NUMBERS),
    *(wrong("replay --all --rate", number, told="--rate") for number in (*BAD_NUMBERS[:7], "nan", "inf", "1e3")),
    *(wrong(f"{things} show", "\udc82", told="UTF-8") for things in ("orders", "commands", "approvals")),
    *(wrong("commands show", one, "--at", "never") for one in ("t1/PRODUCT#1",)),
    *(
        wrong("commands show", one, told="Invalid")
        for one in ("", "t1", "/", "t1/", "/x", "t 1/PRODUCT#1", "t1/" + "x" * 300)
    ),
    *(
        wrong(f"{things} show", one, told="Invalid")
        for things in ("imports", "tasks")
        for one in ("", "t1", "/", "t1/")
    ),
    *(wrong("webhooks test", one, told="Invalid") for one in ("", "t1", "/", "t1/")),
    *(wrong("import", CSV, "--result", file, told="--result") for file in (f"{NOWHERE}/r.csv", FOLDER)),
    *(wrong("replay --all --checkpoint", file, told="--checkpoint") for file in (f"{NOWHERE}/c.json", FOLDER)),
    *(wrong("imports show t1/x --save", file, told="--save") for file in (NOWHERE, FILE)),
    *(
        wrong("replay", *one.split())
        for one in ("", "--all --failed", "--all --order-id o-1", "--failed --checkpoint x")
    ),
    *(wrong("replay --all --rate", one) for one in ("-1", "fast", "")),
    *(
        wrong(one)
        for one in (
            "",
            "nonsense",
            "orders",
            "orders nonsense",
            "show",
            "show o-1 o-2",
            "--nonsense",
            "show o-1 --nonsense",
            "work release o-1",
            "recover o-1 --forward --file x",
            "place --order-id o-1",
            "place --item tea:1:1",
            "tasks list --status COMPLETED",
            "tasks list --status NOPE",
            "work list --status NOPE",
            "applications list --status NOPE",
            "applications limits set days_of_applications 0",
            "applications limits set days_of_applications many",
            "imports retry --of t1/x --encoding utf-16",
            "imports list --last 0",
            "import x.csv --encoding utf-16",
            "imports create --tenant t1 --type PRODUCT",
            "completion fish",
            "start --port",
            "fault nonsense --on charge",
            "fault answer_lost --on nonsense",
            "webhooks add http://x --event nonsense",
        )
    ),
    *(wrong("stock list", stack=stack, told="no local stack") for stack in ("HTTP: html", "HTTP: 200", "HTTP: 503")),
    *(wrong("stock list --aws --stack", name) for name in ("", "nope", "a b", "x" * 200)),
]


class _Stranger(BaseHTTPRequestHandler):
    """An unrelated program on the port."""

    status, body = 200, b""

    def do_POST(self) -> None:
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        pass


class _Page(_Stranger):
    body = b"<html><p>hello"


class _Unavailable(_Stranger):
    status = 503


_STRANGERS = {"html": _Page, "200": _Stranger, "503": _Unavailable}


@contextmanager
def _answering(stack: str) -> Iterator[str]:
    """The port of a server."""
    kind, _, what = stack.partition(": ")
    if kind == "HTTP":
        with HTTPServer(("127.0.0.1", 0), _STRANGERS[what]) as server:
            Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            yield str(server.server_port)
            server.shutdown()
        return
    fail = {**FAILURES, **SIGNALS}.get(stack)
    with mock.patch.object(Stack, "local", return_value=failing(fail)) if fail else nullcontext():
        yield ""


def written(folder: Path) -> dict[str, str]:
    """The files used by calls, by the name in braces."""
    made = {name: folder / f"{name}.json" for name in ("file", "deep", "binary", "order", "csv", "application")}
    made["file"].write_text("[1]")
    made["deep"].write_text("[" * 100_000)
    made["binary"].write_bytes(b"\xff\xfe\x00")
    made["order"].write_text(json.dumps(good_order()))
    made["application"].write_text(json.dumps(application()))
    made["csv"].write_text("code,name\n1,Tea\n")
    return {name: str(path) for name, path in made.items()} | {"folder": str(folder), "nowhere": str(folder / "no")}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return written(tmp_path_factory.mktemp("inputs"))


@cache
def dead_port() -> str:
    """A port without a server."""
    return str(free_port())


def run(row: Wrong, places: dict[str, str]) -> Ended:
    """Run the command without AWS settings, and without the client's pause before a retry."""
    words = [reduce(lambda text, name: text.replace(f"{{{name}}}", places[name]), places, word) for word in row.words]
    with _answering(row.stack) as port, pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda _: None))
        patch.setenv("STEPWISE_PORT", port or dead_port())
        patch.setenv("AWS_CONFIG_FILE", "/dev/null")
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
            patch.delenv(name, raising=False)
        return stepwise(*words, text=row.text)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_invalid_input_is_reported_without_a_traceback(row: Wrong, places: dict[str, str]) -> None:
    ended = run(row, places)

    assert ended.error is None
    assert "Traceback" not in ended.out + ended.err
    assert ended.code != exits.DEFECT
    # The inbox lists each context that it cannot read.
    assert ended.code or "cannot be read" in ended.out
    assert ended.err.strip() + ended.out.strip() or row.stack in {*SIGNALS, "Ctrl-C"}
    assert row.told.lower() in (ended.err + ended.out).lower()
