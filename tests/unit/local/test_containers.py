"""The environment of a function in a container; `make verify` runs it there."""

from pathlib import Path

import pytest

from stepwise.local import containers
from stepwise.local.containers import Containers, ContainersUnavailable
from stepwise.local.emulator.emulator import LocalStackError
from tests.kit.project import read_json

TEMPLATE = """\
Globals:
  Function:
    Environment:
      Variables:
        TABLE:
          Ref: Table
Resources:
  Table:
    Type: AWS::DynamoDB::Table
"""
ROOT_TEMPLATE = """\
Resources:
  Orders:
    Properties:
      Location: Orders/template.yaml
  Topics:
    Properties:
      TemplateURL: Topics/template.yaml
"""
RUNNING = Containers("", Path(), Path(), {"process_order": "A", "process_order_again": "B"})


@pytest.mark.parametrize(
    ("event", "function"),
    [
        ("process_order", "A"),
        ("process_order_invalid", "A"),
        ("process_order_again", "B"),
        ("process_order_again_x", "B"),
    ],
)
def test_event_belongs_to_the_longest_matching_handler(event: str, function: str) -> None:
    assert RUNNING.function(Path("events") / f"{event}.json") == function


def test_unknown_event_is_rejected() -> None:
    with pytest.raises(
        LocalStackError, match=r"does not start with the name of a handler \(process_order, process_order_again\)"
    ):
        RUNNING.function(Path("process_orders.json"))


def test_built_templates_stay_and_their_copies_name_the_endpoints(tmp_path: Path) -> None:
    for stack, text in (("", ROOT_TEMPLATE), ("Orders", TEMPLATE), ("Topics", "Resources: {}\n")):
        (tmp_path / stack).mkdir(exist_ok=True)
        (tmp_path / stack / "template.yaml").write_text(text)

    copy = containers._template(tmp_path, {"AWS_ENDPOINT_URL": "http://172.17.0.1:1"})

    assert (tmp_path / "template.yaml").read_text() == ROOT_TEMPLATE
    assert (tmp_path / "Orders" / "template.yaml").read_text() == TEMPLATE
    assert [nested["Properties"] for nested in read_json(copy)["Resources"].values()] == [
        {"Location": "Orders/containers.json"},
        {"TemplateURL": "Topics/containers.json"},
    ]
    assert read_json(tmp_path / "Topics" / "containers.json") == {"Resources": {}}
    changed = read_json(tmp_path / "Orders" / "containers.json")
    assert changed["Globals"]["Function"]["Environment"]["Variables"] == {
        "TABLE": {"Ref": "Table"},
        "AWS_ENDPOINT_URL": "",
    }


@pytest.mark.parametrize("output", ['{"a": 1}', 'something else\n{"a": 1}\n'])
def test_last_line_is_the_answer(output: str) -> None:
    answer = containers._answer(output, "the log")

    assert (answer.error, answer.result, answer.log) == (None, {"a": 1}, "the log")


def test_error_is_recognized_by_its_class() -> None:
    answer = containers._answer('{"errorMessage": "no", "errorType": "OutOfStock", "stackTrace": []}', "the log")

    assert (answer.error, answer.message, answer.result) == ("OutOfStock", "no", None)


@pytest.mark.parametrize("output", ["", "no such function"])
def test_missing_answer_is_an_error_of_sam(output: str) -> None:
    with pytest.raises(LocalStackError, match="the log"):
        containers._answer(output, "the log")


def test_missing_docker_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ContainersUnavailable, match="no docker on PATH"):
        containers.host_address()


def test_unresponsive_docker_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    docker = tmp_path / "docker"
    docker.write_text("#!/bin/sh\necho 'Cannot connect to the Docker daemon' >&2\nexit 1\n")
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    with pytest.raises(ContainersUnavailable, match="Cannot connect to the Docker daemon"):
        containers.host_address()
