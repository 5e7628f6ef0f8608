"""Exit codes by kind of error, and errors for scripts."""

import json
import re
from collections.abc import Iterator
from importlib import import_module

import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from idempotency import IdempotencyError
from stepwise.cli import exits
from stepwise.local.emulator.emulator import LocalStackError, free_port
from stepwise.operations.errors import CommandError
from tests.kit.command_line import stepwise
from tests.kit.project import ROOT

DOCUMENT = (ROOT / "docs" / "cli.md").read_text()


def classes(base: type[Exception]) -> Iterator[type[Exception]]:
    yield base
    for one in base.__subclasses__():
        yield from classes(one)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("InvalidOrder", 2),
        ("TooManyItems", 2),
        ("OrderNotFound", 3),
        ("StackNotFound", 3),
        ("NothingToRecover", 4),
        ("OrderReused", 4),
        ("StateConflict", 4),
        ("Contention", 5),
        ("FunctionFailed", 1),
        ("StillRunning", 6),
    ],
)
def test_error_has_the_exit_code_of_its_kind(name: str, code: int) -> None:
    for module in ("commands", "functions", "orders", "recovery", "tasks"):
        import_module(f"stepwise.operations.{module}")
    found = {one.__name__: one for base in (CommandError, IdempotencyError) for one in classes(base)}

    assert exits.code(found[name].__new__(found[name])) == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NoCredentialsError(), 5),
        (ClientError({"Error": {"Code": "AccessDenied"}}, "Query"), 5),
        (LocalStackError("busy"), 5),
        (PermissionError("no"), 1),
        (TimeoutError("late"), 6),
        (ZeroDivisionError(), 70),
    ],
)
def test_foreign_errors_have_an_exit_code_too(error: Exception, code: int) -> None:
    assert exits.code(error) == code


def test_no_error_raised_by_a_command_is_a_defect() -> None:
    assert all(exits.code(one.__new__(one)) != exits.DEFECT for one in classes(CommandError))


@pytest.mark.parametrize(("code", "kind"), exits.KINDS.items())
def test_document_lists_every_exit_code(code: int, kind: str) -> None:
    assert re.search(rf"^\| {code} \| `{kind}` \|", DOCUMENT, re.MULTILINE)


def test_error_for_a_script_is_one_line_with_the_next_command() -> None:
    port = str(free_port())
    ended = stepwise("stock", "list", "--port", port, "--json")

    assert (ended.code, ended.out, ended.error) == (3, "", None)
    assert json.loads(ended.err)["error"] == {
        "kind": "not_found",
        "type": "StackNotFound",
        "message": f"nothing answers at http://127.0.0.1:{port}",
        "exit_code": 3,
        "command": f"./stepwise start --port {port}",
    }


def test_invalid_option_of_a_verb_is_one_line_for_a_script_too() -> None:
    ended = stepwise("stock", "add", "tea-01", "-5", "--json")

    assert (ended.code, json.loads(ended.err)["error"]["type"]) == (2, "NoSuchOption")


@pytest.mark.slow
def test_error_for_a_person_has_its_name_a_sentence_and_the_command() -> None:
    port = str(free_port())
    ended = stepwise("stock", "list", "--port", port)

    assert ended.err.startswith("StackNotFound: nothing answers")
    assert f"See ./stepwise start --port {port}\n" in ended.err
