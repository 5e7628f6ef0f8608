"""The graphs of the project's own machines, and of definitions that differ from them."""

import json
from itertools import combinations
from pathlib import Path

import pytest

from stepwise.console.runs.graph import CAUGHT, NEXT, Box, drawing
from tests.kit.project import ROOT

MACHINES = sorted((ROOT / "statemachine").glob("*.json"))
TASK = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke"}

every_machine = pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.stem)


def names(definition: object) -> set[str]:
    """The states of all levels."""
    if isinstance(definition, dict):
        own = set(definition["States"]) if "States" in definition else set()
        return own.union(*map(names, definition.values()))
    return set().union(*map(names, definition)) if isinstance(definition, list) else set()


def apart(one: Box, other: Box) -> bool:
    return (
        one.x + one.width <= other.x
        or other.x + other.width <= one.x
        or one.y + one.height <= other.y
        or other.y + other.height <= one.y
    )


def around(outer: Box, inner: Box) -> bool:
    return (
        outer.x <= inner.x
        and outer.y <= inner.y
        and inner.x + inner.width <= outer.x + outer.width
        and inner.y + inner.height <= outer.y + outer.height
    )


@every_machine
def test_every_state_is_drawn_once(path: Path) -> None:
    found = drawing(path.read_text())

    assert sorted(box.name for box in found.boxes) == sorted(names(json.loads(path.read_text())))
    assert set(found.states) == {box.name for box in found.boxes}


@every_machine
def test_boxes_are_disjoint_or_nested(path: Path) -> None:
    for one, other in combinations(drawing(path.read_text()).boxes, 2):
        assert apart(one, other) or (one.around and around(one, other)) or (other.around and around(other, one))


@every_machine
def test_everything_fits_into_the_picture(path: Path) -> None:
    found = drawing(path.read_text())
    points = [point for line in found.lines for point in line.points]

    assert all(box.x >= 0 and box.x + box.width <= found.width for box in found.boxes)
    assert all(box.y >= 0 and box.y + box.height <= found.height for box in found.boxes)
    assert all(-1 <= x <= found.width + 1 and 0 <= y <= found.height for x, y in points)


@every_machine
def test_every_transition_is_a_line(path: Path) -> None:
    found = drawing(path.read_text())
    wanted = set()
    for name, state in found.states.items():
        targets = [state.get("Next"), state.get("Default"), *(choice["Next"] for choice in state.get("Choices", []))]
        targets += [catcher["Next"] for catcher in state.get("Catch", [])]
        wanted |= {(name, target) for target in targets if target}

    assert {(line.source, line.target) for line in found.lines} == wanted


def test_error_only_line_is_drawn_differently() -> None:
    found = drawing(
        json.dumps(
            {
                "StartAt": "A",
                "States": {
                    "A": {**TASK, "Next": "B", "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "C"}]},
                    "B": {**TASK, "Next": "C", "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "C"}]},
                    "C": {"Type": "Succeed"},
                },
            }
        )
    )

    assert {(line.source, line.target): line.kind for line in found.lines} == {
        ("A", "B"): NEXT,
        ("A", "C"): CAUGHT,
        ("B", "C"): NEXT,
    }


def test_legacy_map_has_its_states_inside() -> None:
    inside = {"StartAt": "B", "States": {"B": {**TASK, "End": True}}}
    found = drawing(json.dumps({"StartAt": "A", "States": {"A": {"Type": "Map", "Iterator": inside, "End": True}}}))

    assert [(box.name, box.around) for box in found.boxes] == [("A", True), ("B", False)]


def test_paths_and_heads_contain_only_numbers() -> None:
    found = drawing((ROOT / "statemachine" / "order-saga.asl.json").read_text())

    assert all(set(line.path + line.head) <= set("MClhz0123456789.- 0") for line in found.lines)
