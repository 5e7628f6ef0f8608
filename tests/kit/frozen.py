"""Describes behaviour, so that two checkouts can be compared: `make freeze INTO=folder`, `make frozen AGAINST=folder`.

Parts, each a folder of JSON files: the state machines (asl), the resources of all templates (resources), help and
output of the command line (cli), the functions' responses to the sample events with every request that they make
(events), and what schedules of the fault explorers do (traces). Modules, handlers, stacks and logical ids may be
renamed. Time and chance stand still; nothing of this machine or day is written.
"""

import argparse
import hashlib
import importlib
import io
import json
import logging
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from tests.kit.frozen_templates import Templates

type Written = dict[str, Any]

SCHEDULES = 100
_EXPLORERS = ("commands", "imports", "people", "stock", "tasks", "users", "webhooks", "zips")
_NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
_SEED = 35


def asl() -> Written:
    return Templates().definitions()


def resources() -> Written:
    return Templates().frozen()


def help_texts() -> Written:
    """Collect the output of --help by the words of each command and group."""
    import typer

    from cli.app import app
    from cli.grammar import leaves
    from tests.kit.command_line import stepwise

    commands = [words for words, _ in leaves(typer.main.get_command(app))]
    every = {words[:length] for words in commands for length in range(len(words) + 1)}
    return {"help": {" ".join(words): stepwise(*words, "--help").out.splitlines() for words in sorted(every)}}


def outputs() -> Written:
    """Collect what commands print that need no running stack.

    wrong: for wrong input. errors: as JSON, where every call is denied. json: for an order and an application in this
    process.
    """
    from operations.stack import Stack
    from tests.kit.command_line import stepwise
    from tests.unit.cli import test_wrong_inputs as wrong
    from tests.unit.cli.test_applications_command import OWN, Office
    from tests.unit.cli.test_order_views import ORDER, ORDER_ID, OUT_OF_STOCK, Shop

    shop, office = Shop(), Office()
    shop.commit(ORDER, "ProcessOrder", "ProcessPayment")
    shop.executions.put("saga", ORDER_ID, "FAILED", *OUT_OF_STOCK, error="OutOfStock")
    found: Written = {"wrong": {}, "errors": {}, "json": {}}
    with tempfile.TemporaryDirectory() as folder:
        places = wrong.written(Path(folder))
        for row in wrong.ROWS:
            found["wrong"][repr((*row.words, row.stack, row.text))] = _ended(wrong.run(row, places), folder)
        for words in wrong.COMMANDS:
            row = wrong.Wrong((*words, "--json"), stack="no permission")
            found["errors"][" ".join(words)] = _ended(wrong.run(row, places), folder)
    known = [(shop.stack, {"orders", "show", "work", "stock"}, ORDER_ID), (office.stack, {"applications"}, OWN)]
    for stack, things, own in known:
        with mock.patch.object(Stack, "local", return_value=stack):
            for words in (words for words in wrong.COMMANDS if words[0] in things):
                named = [own if word == "x-1" else word for word in words]
                found["json"][" ".join(words)] = _ended(stepwise(*named, "--json"), folder)
    return found


def _ended(ended: Any, folder: str) -> Any:
    """Exit code and output of a command, without the folder and port of this run."""
    if ended.code == 70:
        return {"code": ended.code, "error": type(ended.error).__name__}
    texts = [text.replace(folder, "FOLDER") for text in (ended.out, ended.err)]
    texts = [re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text) for text in texts]
    return {"code": ended.code, **{name: text.splitlines() for name, text in zip(("out", "err"), texts, strict=True)}}


def responses(stack: str) -> Written:
    """Collect the result and the requests of each sample event's function, for every answer of AWS.

    stack: "plain" or "with every option". One answer at most in a run is not the first that AWS may give.
    """
    from tests.contract.test_permissions import environment, renamed
    from tests.kit.project import EVENTS, read_json
    from tests.kit.template import FUNCTIONS, handler_of
    from tests.kit.wire import Wire

    logging.disable(logging.CRITICAL)
    functions = {function.handler: name for name, function in FUNCTIONS.items()}
    found: Written = {}
    with Wire() as wire, _standing_still() as start_over:
        for event, path in EVENTS.items():
            name = functions[str(handler_of(event))]
            runs = wire.singles(FUNCTIONS[name], renamed(read_json(path)), dict(environment(name, stack)))
            start_over()
            by_script = {}
            for run in runs:
                requests = [{"operation": call.operation, "parameters": call.parameters} for call in run.calls]
                key = f"answer {run.script[-1]} to request {len(run.script)}" if run.script else "first answers"
                by_script[key] = {"result": run.result, "error": run.error, "requests": requests}
                start_over()
            found[f"{event} {stack}"] = by_script
    return found


class _Class(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, datetime)


class _Present(datetime, metaclass=_Class):
    """Replaces `datetime` in modules that ask for the present."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return _NOW.astimezone(tz)


@contextmanager
def _standing_still() -> Iterator[Callable[[], None]]:
    """Stop the clocks of deployed code. Yields a function that makes chance, uuids and tokens start over."""
    from tests.kit.project import DEPLOYED, modules

    chance = random.Random(_SEED)  # noqa: S311

    def start_over() -> None:
        chance.seed(_SEED)
        random.seed(_SEED)

    with ExitStack() as still:
        for module in (importlib.import_module(name) for package in DEPLOYED for name in modules(package)):
            if "datetime.now" in Path(str(module.__file__)).read_text():
                still.enter_context(mock.patch.object(module, "datetime", _Present))
        still.enter_context(mock.patch("time.monotonic", return_value=1000.0))
        for source in ("os.urandom", "random._urandom"):
            still.enter_context(mock.patch(source, chance.randbytes))
        yield start_over


def schedules(name: str, number: int) -> Written:
    """Each seed's faults, ends, calls, and a digest of its trace, which `make faults-NAME SCENARIO='NAME 1'` prints."""
    explorer = importlib.import_module(f"tests.faults.{name}.explore").EXPLORER
    return {name: {seed: _schedule(explorer.play(explorer.schedule(seed))) for seed in range(1, number + 1)}}


def _schedule(outcome: Any) -> Written:
    calls = {f"{function} {operation}": count for (function, operation), count in outcome.calls.items()}
    ends = {"ends": outcome.ends, "violations": outcome.violations, "seconds": round(outcome.seconds, 2)}
    return {"faults": str(outcome.injected), **ends, "calls": calls, "trace": _digest(outcome.trace)}


def orders(number: int) -> Written:
    """As `schedules`: orders with one to three faults, drawn from those that are possible in a run without any."""
    from tests.faults.play import play
    from tests.faults.scenario import ORDERS, Scenario
    from tests.faults.workers import Wanted, engine, played

    possible = {order: played(Scenario(order), Wanted()).candidates for order in ORDERS}
    found: Written = {}
    for seed in range(1, number + 1):
        chance = random.Random(seed)  # noqa: S311
        order = chance.choice(sorted(possible))
        outcome = play(engine(), Scenario(order, tuple(chance.sample(possible[order], chance.randint(1, 3)))))
        trace = [line.replace(f"o-{os.getpid()}-", "o-") for line in outcome.trace]
        trace = [re.sub(r"\bo-\d+", "o-1", line) for line in trace]
        ends = {"injected": outcome.injected, "violations": outcome.violations}
        found[str(seed)] = {"faults": str(outcome.scenario), **ends, "trace": _digest(trace), "last": trace[-1:]}
    return {"orders": found}


def _digest(lines: Sequence[str]) -> str:
    return f"{len(lines)} lines, {hashlib.sha256('\n'.join(lines).encode()).hexdigest()[:16]}"


# The slowest first.
PARTS: dict[str, Sequence[tuple[Callable[..., Written], tuple[Any, ...]]]] = {
    "events": [(responses, ("with every option",)), (responses, ("plain",))],
    "traces": [(schedules, (name, SCHEDULES)) for name in _EXPLORERS] + [(orders, (SCHEDULES,))],
    "cli": [(outputs, ()), (help_texts, ())],
    "resources": [(resources, ())],
    "asl": [(asl, ())],
}


def freeze(folder: Path, parts: Sequence[str]) -> None:
    """Write the files of these parts. Each of a part's works has a process of its own, as it changes modules."""
    os.environ.update(COLUMNS="100", NO_COLOR="1", TZ="UTC")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.process_cpu_count(), context, max_tasks_per_child=1) as pool:
        chosen = [(part, work) for part, works in PARTS.items() if part in parts for work in works]
        started = {pool.submit(_write, folder / part, *work): part for part, work in chosen}
        for ended in as_completed(started):
            sys.stdout.write(f"{started[ended]}: {ended.result()}\n")
            sys.stdout.flush()


def _write(folder: Path, work: Callable[..., Written], given: tuple[Any, ...]) -> str:
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in work(*given).items():
        (folder / f"{name}.json").write_text(json.dumps(content, indent=1, sort_keys=True, default=_plain) + "\n")
    return f"{work.__name__} {' '.join(map(str, given))} in {time.monotonic() - began:.0f} s"


def _plain(value: Any) -> Any:
    """A value as JSON has it: its content, or else the name of its type."""
    match value:
        case bytes() | bytearray():
            return bytes(value).decode(errors="backslashreplace")
        case io.IOBase():
            return {type(value).__name__: None}
        case set() | frozenset():
            return sorted(value, key=str)
        case datetime() | timedelta():
            return str(value)
    return type(value).__name__


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 1 if AGAINST differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.kit.frozen", description=__doc__)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--into", type=Path, help="folder to write")
    where.add_argument("--against", type=Path, help="folder to compare with")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    given = parser.parse_args(arguments)
    parts = given.parts or [*PARTS]
    if unknown := {*parts} - {*PARTS}:
        parser.error(f"no part is named {', '.join(sorted(unknown))}")
    if given.into:
        freeze(given.into, parts)
        return 0
    with tempfile.TemporaryDirectory() as now:
        freeze(Path(now), parts)
        commands = [["diff", "-ruN", given.against / part, Path(now) / part] for part in parts]
        return max(subprocess.run(command, check=False).returncode for command in commands)


if __name__ == "__main__":
    sys.exit(main())
