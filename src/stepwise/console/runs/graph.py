"""Draws a definition as a graph: boxes and lines with positions. A Map or Parallel state is a box around its states."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any

from .layer_places import Point
from .layers import Edge, Laid, laid_out

# Pixels. A character of the graph's font has at most this width on average; the rest of a box holds its mark and count.
_SIGN, _REST, _HEIGHT = 7.4, 62.0, 34.0
_HEADER, _PADDING, _BETWEEN, _EDGE = 30.0, 14.0, 18.0, 6.0
NEXT, CAUGHT = "next", "caught"

type State = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Box:
    """One state; x and y of its upper left corner. kind: its Type. around: whether it holds other states."""

    name: str
    kind: str
    x: float
    y: float
    width: float
    height: float
    around: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One transition. kind: `next`, or `caught` if only an error leads there."""

    source: str
    target: str
    kind: str
    points: tuple[Point, ...]

    @property
    def path(self) -> str:
        """The `d` of an SVG path: curves that begin and end vertically."""
        (x, y), *rest = self.points
        steps = [f"M{x:.1f} {y:.1f}"]
        for right, below in rest:
            middle = (y + below) / 2
            steps.append(f"C{x:.1f} {middle:.1f} {right:.1f} {middle:.1f} {right:.1f} {below:.1f}")
            x, y = right, below
        return "".join(steps)

    @property
    def head(self) -> str:
        """The arrow's head as an SVG path."""
        (_, before), (x, y) = self.points[-2:]
        back = -7 if y > before else 7
        return f"M{x:.1f} {y:.1f}l-4 {back}h8z"

    @property
    def middle(self) -> Point:
        """The position of a label."""
        (x, y), (right, below) = self.points[-2:]
        return (x + right) / 2, (y + below) / 2


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing. boxes: outer ones come first. states: the states of all levels by name."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    states: Mapping[str, State]


@lru_cache(maxsize=64)
def drawing(definition: str) -> Drawing:
    """Draw the graph of a definition, given as JSON text."""
    document = json.loads(definition)
    drawn = _drawn(document)
    moved = _moved(drawn, _EDGE, _EDGE)
    return replace(moved, width=drawn.width + 2 * _EDGE, height=drawn.height + 2 * _EDGE)


def inner(state: State) -> list[State]:
    """Return the definitions inside a state: of a Map's iterations, or of a Parallel's branches."""
    processor = state.get("ItemProcessor") or state.get("Iterator")
    return [*([processor] if processor else []), *state.get("Branches", [])]


def _drawn(definition: State) -> Drawing:
    states: dict[str, State] = _first_first(definition)
    inside = {name: _beside([_drawn(one) for one in inner(state)]) for name, state in states.items() if inner(state)}
    sizes = {name: _size(name, inside.get(name)) for name in states}
    edges = list(_edges(states))
    laid = laid_out(sizes, edges)
    boxes = [_box(name, state, laid, sizes[name], name in inside) for name, state in states.items()]
    lines = [
        Line(edge.source, edge.target, edge.kind, tuple(points)) for edge, points in zip(edges, laid.ways, strict=True)
    ]
    nested = [
        _moved(inside[box.name], box.x + (box.width - inside[box.name].width) / 2, box.y + _HEADER)
        for box in boxes
        if box.around
    ]
    return _joined([Drawing(laid.width, laid.height, tuple(boxes), tuple(lines), states), *nested])


def _first_first(definition: State) -> dict[str, State]:
    """Return the states, the first one first."""
    states, start = definition["States"], definition["StartAt"]
    return {start: states[start], **states}


def _size(name: str, inside: Drawing | None) -> Point:
    width = len(name) * _SIGN + _REST
    if inside is None:
        return width, _HEIGHT
    return max(width, inside.width + 2 * _PADDING), inside.height + _HEADER + _PADDING


def _edges(states: Mapping[str, State]) -> Iterator[Edge]:
    for name, state in states.items():
        following = dict.fromkeys(_following(state))
        yield from (Edge(name, target, NEXT, straight=True) for target in following)
        caught = dict.fromkeys(catcher["Next"] for catcher in state.get("Catch", []))
        yield from (Edge(name, target, CAUGHT) for target in caught if target not in following)


def _following(state: State) -> Iterator[str]:
    yield from (choice["Next"] for choice in state.get("Choices", []))
    yield from (state[name] for name in ("Default", "Next") if name in state)


def _box(name: str, state: State, laid: Laid, size: Point, around: bool) -> Box:
    x, y = laid.places[name]
    return Box(name, state["Type"], x - size[0] / 2, y - size[1] / 2, *size, around)


def _beside(drawings: Sequence[Drawing]) -> Drawing:
    """Place branches beside one another."""
    placed, at = list[Drawing](), 0.0
    for one in drawings:
        placed.append(_moved(one, at, 0))
        at += one.width + _BETWEEN
    joined = _joined(placed)
    return replace(joined, width=at - _BETWEEN, height=max(one.height for one in drawings))


def _joined(drawings: Sequence[Drawing]) -> Drawing:
    """Join drawings into one, with the size of the first."""
    return Drawing(
        drawings[0].width,
        drawings[0].height,
        tuple(chain.from_iterable(one.boxes for one in drawings)),
        tuple(chain.from_iterable(one.lines for one in drawings)),
        {name: state for one in drawings for name, state in one.states.items()},
    )


def _moved(drawn: Drawing, right: float, below: float) -> Drawing:
    boxes = tuple(replace(box, x=box.x + right, y=box.y + below) for box in drawn.boxes)
    lines = tuple(replace(line, points=tuple((x + right, y + below) for x, y in line.points)) for line in drawn.lines)
    return replace(drawn, boxes=boxes, lines=lines)
