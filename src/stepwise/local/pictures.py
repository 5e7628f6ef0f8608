"""Pictures and tables in the documents, drawn from the definitions and the stacks: `python -m stepwise.local.pictures`.

A picture is between `<!-- picture of order-saga, LR -->` and `<!-- end of picture -->`; LR is the direction.
A table is between `<!-- states of order-saga -->`, or `<!-- functions -->`, and `<!-- end of table -->`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .emulator.emulator import ROOT

_PICTURE = re.compile(r"(<!-- picture of ([\w-]+), (\w\w) -->\n).*?(<!-- end of picture -->)", re.DOTALL)
_STATES = re.compile(r"(<!-- states of ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
_FUNCTIONS = re.compile(r"(<!-- functions -->\n).*?(<!-- end of table -->)", re.DOTALL)
_STACK = re.compile(r"^ +Location: (stacks/\w+\.yaml)$", re.MULTILINE)
_FUNCTION = re.compile(r"^  (\w+Function):\n(?: {4}.*\n)*? {6}Description: (.+)$", re.MULTILINE)
_SHAPES = {"Choice": '{"%s"}', "Succeed": '(["%s"])', "Fail": '(["%s"])', "Pass": '("%s")', "Wait": '("%s")'}
_SERVICES = {":::lambda:": "Lambda", ":::sns:": "SNS"}
_BOX = '["%s"]'

type State = Mapping[str, Any]


def main() -> None:
    for document in documents():
        document.write_text(with_pictures(document.read_text()))


def documents() -> list[Path]:
    """Return the documents that may have a picture."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def with_pictures(text: str) -> str:
    """Redraw a document's pictures and tables."""
    text = _PICTURE.sub(lambda match: f"{match[1]}{_drawn(match[2], match[3])}{match[4]}", text)
    text = _STATES.sub(lambda match: f"{match[1]}{_table(_states(match[2]))}{match[3]}", text)
    return _FUNCTIONS.sub(lambda match: f"{match[1]}{_table(_functions())}{match[2]}", text)


def drawn_in(text: str) -> set[str]:
    """Return the state machines in a document's pictures, by file name."""
    return {match[2] for match in _PICTURE.finditer(text)}


def _table(rows: Iterator[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _states(machine: str) -> Iterator[tuple[str, ...]]:
    yield "state", "kind", "effect", "next", "on failure"
    yield ("---",) * 5
    for name, state in _definition(machine)["States"].items():
        kind = next((name for part, name in _SERVICES.items() if part in state.get("Resource", "")), state["Type"])
        caught = ", ".join(catcher["Next"] for catcher in state.get("Catch", []))
        yield name, kind, state["Comment"], state.get("Next", ""), caught


def _functions() -> Iterator[tuple[str, ...]]:
    yield "function", "what it does"
    yield "---", "---"
    for stack in _STACK.findall((ROOT / "template.yaml").read_text()):
        for function, description in _FUNCTION.findall((ROOT / stack).read_text()):
            yield f"`{function}`", description


def _definition(machine: str) -> State:
    definition: State = json.loads((ROOT / "statemachine" / f"{machine}.asl.json").read_text())
    return definition


def _drawn(machine: str, direction: str) -> str:
    lines = "\n".join(f"  {line}" for line in _flow(_definition(machine)))
    return f"```mermaid\nflowchart {direction}\n{lines}\n```\n"


def _flow(definition: State) -> Iterator[str]:
    yield f"{_id(definition['StartAt'])}_starts(( )) --> {_id(definition['StartAt'])}"
    for name, state in definition["States"].items():
        yield from _node(name, state)
    for name, state in definition["States"].items():
        for label, target in _ways(state):
            yield f"{_id(name)} {_arrow(label)} {_id(target)}"


def _node(name: str, state: State) -> Iterator[str]:
    inner = [one for one in [state.get("ItemProcessor"), *state.get("Branches", [])] if one]
    shape = _SHAPES.get(state["Type"], _BOX)
    if not inner:
        if shape != _BOX or _id(name) != name:
            yield f"{_id(name)}{shape % name}"
        return
    items = f" for each of {state['ItemsPath'].removeprefix('$.')}" if "ItemsPath" in state else ""
    yield f'subgraph {_id(name)}["{name}{items}"]'
    for definition in inner:
        yield from (f"  {line}" for line in _flow(definition))
    yield "end"


def _ways(state: State) -> list[tuple[str, str]]:
    """Return the transitions of a state: label and next state. Next and Catch to the same state are one transition."""
    caught = {catcher["Next"]: _errors(catcher) for catcher in state.get("Catch", [])}
    following = state.get("Next")
    ways = [(_condition(choice), choice["Next"]) for choice in state.get("Choices", [])]
    if "Default" in state:
        ways.append(("otherwise", state["Default"]))
    if following:
        ways.append(("in any case" if following in caught else "", following))
    return ways + [(f"-{errors}", name) for name, errors in caught.items() if name != following]


def _errors(catcher: State) -> str:
    names = ", ".join(catcher["ErrorEquals"])
    return "any error" if names == "States.ALL" else names


def _condition(choice: State) -> str:
    for word in ("Or", "And"):
        if word in choice:
            return f"<br>{word.lower()} ".join(map(_condition, choice[word]))
    if "Not" in choice:
        return f"not {_condition(choice['Not'])}"
    ((operator, value),) = ((key, value) for key, value in choice.items() if key not in {"Variable", "Next"})
    subject = ".".join(choice["Variable"].split(".")[-2:]).removeprefix("$.")
    if operator.startswith("Is"):
        return f"{subject} is {'' if value else 'not '}{operator.removeprefix('Is').lower()}"
    return f"{subject} {re.sub(r'^(String|Numeric|Boolean|Timestamp)Equals$', 'is', operator)} {value}"


def _arrow(label: str) -> str:
    if label.startswith("-"):
        return f'-. "{label[1:]}" .->'
    return f'-- "{label}" -->' if label else "-->"


def _id(name: str) -> str:
    return re.sub(r"\W", "_", name)


if __name__ == "__main__":
    main()
