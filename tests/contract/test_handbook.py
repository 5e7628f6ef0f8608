"""The handbook and the guides agree with the alarms, parameters, commands and logs."""

import fnmatch
import re
from typing import Any

import typer

from stepwise.cli.app import app
from tests.kit.alarms import ALARMS
from tests.kit.each import each
from tests.kit.machine import MACHINES
from tests.kit.project import DEPLOYED, DOCUMENTS, ROOT, sources
from tests.kit.template import TEMPLATE, of_type

SAGA = MACHINES["OrderSaga"]

OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
HANDBOOK = (ROOT / "docs" / "alarms.md").read_text()
DEPLOYMENT = (ROOT / "docs" / "deploy.md").read_text()
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^#|\Z)", HANDBOOK, re.MULTILINE | re.DOTALL))
CODE = "".join(path.read_text() for package in DEPLOYED for path in sources(package))
# Lambda's own fields; the others come from `extra` in the code.
OF_LAMBDA = {"timestamp", "level", "message", "logger", "requestId", "errorType"}
KEYWORDS = {
    *("fields", "filter", "sort", "limit", "stats", "count", "by", "as", "desc", "asc", "bin", "like", "and", "or"),
    *("not", "in", "ispresent", "max", "min", "h", "m", "d"),
}


@each("alarm", ALARMS)
def test_handbook_explains_each_alarm_in_its_section_with_a_command(alarm: str) -> None:
    named = re.compile(rf"^(?:\| [^|]*)?`{alarm}`|^`.+`{alarm}`", re.MULTILINE)
    (text,) = (text for text in SECTIONS.values() if named.search(text))

    assert re.search(r"`(\./stepwise|aws|make|sam) [^`]+`", text), text


def test_every_mail_states_an_action_and_an_urgency() -> None:
    rows = re.findall(r"^\| (`.+?) \| .+ \| (.+) \| (\w+) \|$", OPERATIONS, re.MULTILINE)
    named = [name for mails, *_ in rows for name in re.findall(r"`([\w:]+)`", mails)]
    notices = {name for machine in MACHINES.values() for name, _ in machine.tasks() if name.startswith("sns:")}
    assert "| `sns:Notify*Fail` of `order-saga` |" in OPERATIONS
    notices -= set(fnmatch.filter(SAGA.states, "sns:Notify*Fail"))

    assert sorted(named) == sorted([*ALARMS, *notices - {"sns:NotifySuccess", "sns:NotifyRecovered"}])
    assert all(re.match(r"`(\./stepwise|aws) ", helps) for _, helps, _ in rows)
    assert {urgency for *_, urgency in rows} == {"page", "morning"}


def test_handbook_explains_only_existing_alarms() -> None:
    assert set(re.findall(r"`(\w+Alarm)`", HANDBOOK)) == set(ALARMS)


def test_handbook_redrives_existing_queues_and_buckets() -> None:
    named = set(re.findall(r"queues redrive (\w+)", HANDBOOK))
    buckets = {name for name in of_type("AWS::S3::Bucket") if re.fullmatch(r"Failed\w*RecordsBucket", name)}

    assert named <= set(of_type("AWS::SQS::Queue")) | buckets
    assert set(re.findall(r"`(Failed\w+Bucket)`", HANDBOOK)) == buckets


@each("parameter", TEMPLATE["Parameters"])
def test_deployment_guide_lists_every_parameter(parameter: str) -> None:
    assert re.search(rf"^\|[^|]* `{parameter}`[,\s]", DEPLOYMENT, re.MULTILINE)


def commands() -> list[str]:
    """Every use of the command line in a document, up to prose or a comment."""
    found = (re.findall(r"\./stepwise ([^`\n#|]+)", document.read_text()) for document in DOCUMENTS)
    return sorted({command.strip() for of_document in found for command in of_document})


@each("command", commands())
def test_every_documented_command_exists_with_its_options(command: str) -> None:
    words = command.split()
    found: Any = typer.main.get_command(app)
    while hasattr(found, "commands") and words and not words[0].startswith("--"):
        found = found.commands[words.pop(0)]
    options = {name for parameter in found.params for name in parameter.opts} | {"--help"}

    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options


def queries() -> list[str]:
    return re.findall(r"```\n(fields .*?)```", OPERATIONS, re.DOTALL)


def test_handbook_has_queries() -> None:
    assert queries()


@each("query", queries())
def test_queries_use_logged_fields(query: str) -> None:
    without_strings = re.sub(r'"[^"]*"|/[^/]*/', "", query)
    counted = set(re.findall(r"\bas (\w+)", query))
    asked = set(re.findall(r"(?<![@\w])[a-z]\w*", without_strings)) - KEYWORDS - counted

    assert {name for name in asked - OF_LAMBDA if not re.search(rf'"{name}":|\b{name}=', CODE)} == set()


def test_queries_match_logged_messages() -> None:
    filters = [line for query in queries() for line in query.splitlines() if line.startswith("| filter message ")]
    asked = {text for line in filters for text in re.findall(r'"([^"]+)"', line)}

    assert asked
    assert {text for text in asked if text not in CODE} == set()
