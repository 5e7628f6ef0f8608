"""Moves and new names change nothing of what `make freeze` writes; a change of behaviour does."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests import frozen
from tests.kit.frozen_templates import Templates
from tests.kit.template import RESOURCES, TEMPLATE

IDS = sorted(RESOURCES, key=len, reverse=True)


def renamed(value: Any) -> Any:
    """The template with other logical ids, in another order. What SAM makes of a resource keeps its beginning."""
    match value:
        case {"Ref": str(name)}:
            return {"Ref": _renamed(name)}
        case {"Fn::GetAtt": [str(name), attribute]}:
            return {"Fn::GetAtt": [_renamed(name), attribute]}
        case {"Fn::Sub": str(text)}:
            return {"Fn::Sub": re.sub(r"\$\{(\w+)", lambda found: f"${{{_renamed(found[1])}", text)}
        case dict():
            return {name: renamed(inner) for name, inner in value.items()}
        case list():
            return [renamed(inner) for inner in value]
    return value


def _renamed(name: str) -> str:
    return f"New{name}" if any(map(name.startswith, IDS)) and name not in TEMPLATE["Parameters"] else name


def test_reordered_new_logical_ids_change_nothing() -> None:
    resources = {f"New{name}": renamed(RESOURCES[name]) for name in reversed(RESOURCES)}
    moved = {**renamed({**TEMPLATE, "Resources": {}}), "Resources": resources}

    assert Templates(moved).frozen() == Templates().frozen()


def test_changed_property_is_a_difference() -> None:
    changed = json.loads(json.dumps(TEMPLATE))
    changed["Resources"]["OrdersTable"]["Properties"]["BillingMode"] = "PROVISIONED"

    assert Templates(changed).frozen() != Templates().frozen()


@pytest.mark.slow
def test_difference_is_printed_and_fails(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    parts = ["asl", "resources"]
    assert frozen.main(["--into", str(tmp_path), *parts]) == 0
    assert frozen.main(["--against", str(tmp_path), *parts]) == 0

    file = tmp_path / "resources" / "AWS.DynamoDB.Table.json"
    file.write_text(file.read_text().replace("PAY_PER_REQUEST", "PROVISIONED", 1))
    capfd.readouterr()
    assert frozen.main(["--against", str(tmp_path), *parts]) == 1
    assert "PROVISIONED" in capfd.readouterr().out


def test_unknown_part_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        frozen.main(["--into", str(tmp_path), "everything"])

    assert "no part is named everything" in capsys.readouterr().err
