"""One grammar: every command is found by its name, has --json, and is described."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest
import typer

from stepwise.cli.app import app
from stepwise.cli.grammar import leaves
from tests.kit.command_line import stepwise
from tests.kit.project import PATH, ROOT

ROOT_GROUP: Any = typer.main.get_command(app)
COMMANDS = {" ".join(words): command for words, command in leaves(ROOT_GROUP)}
DOCUMENT = (ROOT / "docs" / "cli.md").read_text()
SHORT = {
    "place": "orders place",
    "show": "orders show",
    "recover": "orders recover",
    "replay": "orders replay",
    "seed": "stock seed",
    "report": "reports show",
    "import": "user-imports create",
}
# Modules that no call without AWS may import.
HEAVY = ("boto3", "botocore", "rich", "msgspec", "idempotency", "urllib3", "psutil")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_json_and_help(name: str) -> None:
    assert any("--json" in option.opts for option in COMMANDS[name].params)
    assert stepwise(*name.split(), "--help").code == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_no_argument_has_the_name_of_an_option(name: str) -> None:
    """The parser stores values by these names, so an argument would overwrite the value of --stack."""
    names = [parameter.name for parameter in COMMANDS[name].params]

    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in SHORT and not name.startswith("completion")])
def test_document_describes_every_command(name: str) -> None:
    things, _, verb = name.partition(" ")
    row = re.search(rf"^\| `{things}` \|.*$", DOCUMENT, re.MULTILINE)

    assert f"`{things}`" in DOCUMENT
    assert not verb or (row and f"`{verb}`" in row[0])


@pytest.mark.parametrize(("short", "long"), SHORT.items())
def test_short_form_is_the_same_command(short: str, long: str) -> None:
    assert [option.opts for option in COMMANDS[short].params] == [option.opts for option in COMMANDS[long].params]


@pytest.mark.parametrize(
    "things",
    ["orders", "stock", "work", "jobs", "commands", "imports", "tasks", "user-imports", "approvals", "applications"],
)
def test_every_context_has_a_list(things: str) -> None:
    assert f"{things} list" in COMMANDS


def test_misspelled_word_gets_a_suggestion() -> None:
    ended = stepwise("orderz")

    assert (ended.code, ended.error) == (2, None)
    assert "Did you mean 'orders'" in ended.err


def test_version_is_the_project_version() -> None:
    assert re.fullmatch(r"stepwise \d+\.\d+\.\d+\n", stepwise("--version").out)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["ord"], {"orders"}),
        (["orders", ""], {"audit", "list", "place", "show", "recover", "replay"}),
        (["orders", "list", "--st"], {"--status", "--stack"}),
        (["orders", "list", "--status", ""], {"New", "Confirmed", "Pending"}),
        (["orders", "show", "o"], set()),
        (["tasks", "list", "--status", "COMPLETED_"], {"COMPLETED_WITH_FAILURES"}),
    ],
)
def test_completion_offers_commands_options_and_choices(typed: list[str], words: set[str]) -> None:
    assert set(stepwise("completion", "words", "--", *typed).out.split()) == words


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_prints_the_script(shell: str) -> None:
    assert "completion words -- " in stepwise("completion", shell).out


def test_bash_completion_works() -> None:
    script = stepwise("completion", "bash").out
    ask = f"cd {ROOT}; {script} COMP_WORDS=(./stepwise ord); COMP_CWORD=1; _stepwise ./stepwise; echo ${{COMPREPLY[*]}}"
    run = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)

    assert run.stdout == "orders\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["completion", "bash"], ["completion", "words", "or"]]
)
def test_commands_without_aws_do_not_import_it(arguments: list[str]) -> None:
    code = (
        f"import runpy, sys; sys.argv = ['stepwise', *{arguments}]\n"
        "try: runpy.run_module('stepwise.cli', run_name='__main__')\n"
        f"finally: print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    path = {"PYTHONPATH": ":".join(map(str, PATH))}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=path)

    assert (run.returncode, run.stderr) == (0, "[]\n")


def test_invalid_call_is_json_for_a_script() -> None:
    ended = stepwise("orders", "list", "--status", "Lost", "--json")

    assert (ended.code, ended.out) == (2, "")
    error = json.loads(ended.err)["error"]
    assert (error["kind"], error["exit_code"]) == ("invalid", 2)
    assert "--status" in error["message"]
