"""Describes behaviour, so that two checkouts can be compared: `make freeze INTO=folder`, `make frozen AGAINST=folder`.

Parts, each a folder of JSON files: the state machines (asl), the resources of all templates (resources), help and
output of the command line (cli), the functions' responses to the sample events with every request that they make
(events), and what schedules of the fault explorers do (traces). Modules, handlers, stacks and logical ids may be
renamed. Time and randomness are fixed; nothing about this machine or day is written.
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
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from tests.kit.frozen_templates import Templates

type Written = dict[str, Any]

SCHEDULES = 100
_EXPLORERS = ("commands", "imports", "people", "stock", "tasks", "users", "webhooks", "zips")
_NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
_SEED = 35
# Commands that only read, and ids in the sample events, by the first word of a command.
_READING = {"attention", "audit", "history", "list", "report", "show"}
_IDS = {
    "applications": "a-1001",
    "approvals": "account-opening.a-1001.review",
    "commands": "tenant1/PRODUCT#tea-01",
    "imports": "tenant1/5f0c1d7ab9e24d6f8a3b2c1d0e9f8a7b-0001",
    "jobs": "12345",
    "orders": "o-1001",
    "show": "o-1001",
    "tasks": "tenant1/task-1",
    "work": "12345",
}
# The ids in calls of tests/unit/cli/test_wrong_inputs.py.
_NO_IDS = {"x-1", "t1/PRODUCT#x"}


def asl() -> Written:
    return Templates().definitions()


def resources() -> Written:
    return Templates().frozen()


def help_texts() -> Written:
    """Collect the output of --help by the words of each command and group."""
    import typer

    from stepwise.cli.app import app
    from stepwise.cli.grammar import leaves
    from tests.kit.command_line import stepwise

    commands = [words for words, _ in leaves(typer.main.get_command(app))]
    every = {words[:length] for words in commands for length in range(len(words) + 1)}
    return {"help": {" ".join(words): stepwise(*words, "--help").out.splitlines() for words in sorted(every)}}


def outputs() -> Written:
    """Collect what commands print that need no running stack.

    wrong: for wrong input. errors: as JSON, where every call is denied. json: of commands that read, for the rows of
    the sample events; services other than tables and executions deny every call.
    """
    from stepwise.operations.stack import Stack
    from tests.kit.command_line import stepwise
    from tests.unit.cli import test_wrong_inputs as wrong

    found: Written = {"wrong": {}, "errors": {}, "json": {}}
    with tempfile.TemporaryDirectory() as folder:
        places = wrong.written(Path(folder))
        hidden = {folder: "FOLDER", wrong.dead_port(): "PORT", datetime.now(UTC).date().isoformat(): "TODAY"}
        for row in wrong.ROWS:
            found["wrong"][repr((*row.words, row.stack, row.text))] = _ended(wrong.run(row, places), hidden)
        for words in wrong.COMMANDS:
            row = wrong.Wrong((*words, "--json"), stack="no permission")
            found["errors"][" ".join(words)] = _ended(wrong.run(row, places), hidden)
    with mock.patch.object(Stack, "local", return_value=_with_rows()):
        for words in (words for words in wrong.COMMANDS if _READING & {*words}):
            named = [_IDS.get(words[0], word) if word in _NO_IDS else word for word in words]
            # The default is the last day.
            named += ["--since", _NOW.date().isoformat()] if named == ["orders", "list"] else []
            found["json"][" ".join(named)] = _ended(stepwise(*named, "--json"), hidden)
    return found


def _ended(ended: Any, hidden: Mapping[str, str]) -> Any:
    """Exit code and output of a command, without the folder, port and day of this run."""
    shown = {"code": ended.code, "out": ended.out.splitlines(), "err": ended.err.splitlines()}
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", json.dumps(shown))
    for value, name in hidden.items():
        text = text.replace(value, name)
    return json.loads(text)


def _with_rows() -> Any:
    """A stack in this process with every row that a sample event's function puts, and the history of one order."""
    from tests.kit.deployed_stack import Stack
    from tests.kit.engines import in_process
    from tests.kit.template import TEMPLATE
    from tests.unit.cli import test_wrong_inputs as wrong
    from tests.unit.cli.test_order_views import ORDER_ID, OUT_OF_STOCK, Executions

    deployed, client, executions = Stack(), in_process.ministack().client(), Executions()
    executions.put("saga", ORDER_ID, "FAILED", *OUT_OF_STOCK, error="OutOfStock")
    for table in deployed.tables():
        client.create_table(**table)
    for table, item in [put for _, runs in _invoked("plain") for put in _put(next(runs).calls)]:
        client.put_item(TableName=table, Item=item)
    outputs = {name: str(deployed.resolve(body["Value"])) for name, body in TEMPLATE["Outputs"].items()}
    outputs |= {"OrderSagaArn": "saga", "OrderRecoveryArn": "recovery"}
    stack = replace(wrong.failing(wrong.FAILURES["no permission"]), outputs=outputs)
    stack.__dict__["_clients"] = ChainMap({"dynamodb": client, "stepfunctions": executions}, stack.session)
    return stack


def _put(calls: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    for call in calls:
        writes = call.parameters.get("TransactItems", [])
        puts = [one["Put"] for one in writes if "Put" in one]
        for put in [*puts, *([call.parameters] if call.operation == "dynamodb:PutItem" else [])]:
            yield put["TableName"], put["Item"]


def responses(stack: str) -> Written:
    """Collect the result and the requests of each sample event's function, for every answer of AWS.

    stack: "plain" or "with every option". One answer at most in a run is not the first that AWS may give.
    """
    found: Written = {}
    for event, runs in _invoked(stack):
        by_script = {}
        for run in runs:
            requests = [{"operation": call.operation, "parameters": call.parameters} for call in run.calls]
            key = f"answer {run.script[-1]} to request {len(run.script)}" if run.script else "first answers"
            by_script[key] = {"result": run.result, "error": run.error, "requests": requests}
        found[f"{event} {stack}"] = by_script
    return found


def _invoked(stack: str) -> Iterator[tuple[str, Iterator[Any]]]:
    """Each sample event with the runs of its function, which all start at the same time with the same random seed."""
    from tests.contract.test_permissions import environment, renamed
    from tests.kit.project import EVENTS, read_json
    from tests.kit.template import FUNCTIONS, handler_of
    from tests.kit.wire import Wire

    logging.disable(logging.CRITICAL)
    functions = {function.handler: name for name, function in FUNCTIONS.items()}
    with Wire() as wire, _standing_still() as start_over:
        for event, path in EVENTS.items():
            name = functions[str(handler_of(event))]
            variables = dict(environment(name, stack))
            yield event, wire.singles(FUNCTIONS[name], renamed(read_json(path)), variables, before=start_over)


class _Class(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, datetime)


class _Present(datetime, metaclass=_Class):
    """Replaces `datetime` in modules that read the current time."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return _NOW.astimezone(tz)


@contextmanager
def _standing_still() -> Iterator[Callable[[], None]]:
    """Stop the clocks of deployed code. Yields a function that resets random numbers, uuids and tokens."""
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
    """Write the files of these parts. Each unit of a part runs in a separate process, because it changes modules."""
    # PYTHONHASHSEED fixes the iteration order of sets of strings.
    fixed = mock.patch.dict(os.environ, COLUMNS="100", NO_COLOR="1", TZ="UTC", PYTHONHASHSEED="0")
    context = multiprocessing.get_context("spawn")
    with fixed, ProcessPoolExecutor(os.process_cpu_count(), context, max_tasks_per_child=1) as pool:
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
    """A value as JSON has it: its content, or the name of its type."""
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
    parser = argparse.ArgumentParser(prog="python -m tests.frozen", description=__doc__)
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
