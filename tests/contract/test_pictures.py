"""The pictures of the state machines match their definitions."""

import json
import re
from pathlib import Path

from stepwise.local.pictures import documents, drawn_in, with_pictures
from tests.kit.each import each
from tests.kit.machine import MACHINES, Machine, successors
from tests.kit.project import ROOT

every_machine = each("machine", MACHINES.values(), ids=MACHINES)


def picture(machine: Machine) -> str:
    """The machine's picture, drawn from the current definition."""
    name = machine.path.name.removesuffix(".asl.json")
    return with_pictures(f"<!-- picture of {name}, TD -->\n<!-- end of picture -->")


@each("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_picture_is_current(document: Path) -> None:
    text = document.read_text()

    assert with_pictures(text) == text, "run 'make pictures'"


@every_machine
def test_every_state_machine_has_one_picture(machine: Machine) -> None:
    names = [name for document in documents() for name in drawn_in(document.read_text())]

    assert names.count(machine.path.name.removesuffix(".asl.json")) == 1


@every_machine
def test_picture_shows_every_state_and_transition(machine: Machine) -> None:
    drawn = picture(machine)
    arrows = {(source, target) for source, target in re.findall(r"^ *(\w+) -.*?-> (\w+)$", drawn, re.MULTILINE)}
    wanted = {
        (re.sub(r"\W", "_", name), re.sub(r"\W", "_", successor))
        for name, state in machine.states.items()
        for successor in successors(state)
    }

    assert wanted <= arrows
    assert [
        name
        for name in re.findall(r'"(?:Next|StartAt)": "([^"]+)"', json.dumps(machine.definition))
        if name not in drawn
    ] == []
