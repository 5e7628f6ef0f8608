"""The formatter of the state machines' definitions."""

import json
from pathlib import Path

import pytest

from stepwise.deployment import definitions

WIDTH = 80
ERRORS = [f"Error{number}" for number in range(6)]
MACHINE = {
    "StartAt": "Pay",
    "States": {
        "Pay": {
            "Type": "Task",
            "Parameters": {"FunctionName": "${PayFunctionArn}", "Payload.$": "$"},
            "Retry": [{"ErrorEquals": ["Busy"], "MaxAttempts": 2}, {"ErrorEquals": ERRORS, "MaxAttempts": 4}],
            "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Fail"}],
            "Next": "Fail",
        },
        "Fail": {"Type": "Fail"},
    },
}
FORMATTED = """\
{
  "StartAt": "Pay",
  "States": {
    "Pay": {
      "Type": "Task",
      "Parameters": {"FunctionName": "${PayFunctionArn}", "Payload.$": "$"},
      "Retry": [
        {"ErrorEquals": ["Busy"], "MaxAttempts": 2},
        {"ErrorEquals": ["Error0", "Error1", "Error2", "Error3", "Error4",
          "Error5"], "MaxAttempts": 4}
      ],
      "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Fail"}],
      "Next": "Fail"
    },
    "Fail": {"Type": "Fail"}
  }
}
"""


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definitions, "_WIDTH", WIDTH)


def test_retrier_is_on_one_line_or_wrapped() -> None:
    assert definitions.formatted(json.dumps(MACHINE)) == FORMATTED


def test_check_names_a_definition_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(definitions, "ROOT", tmp_path)
    path = tmp_path / "statemachine" / "pay.asl.json"
    path.parent.mkdir()
    path.write_text(json.dumps(MACHINE))

    assert definitions.main("--check") == 1
    assert "pay.asl.json is not formatted" in capsys.readouterr().err
    assert path.read_text() == json.dumps(MACHINE)
    assert definitions.main() == 0
    assert path.read_text() == FORMATTED
    assert definitions.main("--check") == 0
