"""Layered drawing of a directed graph, as Sugiyama, Tagawa and Toda describe it (1981).

Layers by longest path; order within a layer by barycenters, the best of several sweeps; horizontal places by isotonic
regression, which moves boxes as little as the gaps between them allow. Edges to the same box share their way down.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .layer_places import Name, Net, Point, across, down, order

_STRAIGHT = 6.0


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge. straight: preferred as a straight line. kind: edges of one kind share their way down."""

    source: str
    target: str
    kind: str = ""
    straight: bool = False


@dataclass(frozen=True, slots=True)
class Laid:
    """The result: the middle of each box, and the points of each edge in the order of `edges`, source first."""

    width: float
    height: float
    places: dict[str, Point]
    ways: list[list[Point]]


def laid_out(sizes: Mapping[str, Point], edges: Sequence[Edge]) -> Laid:
    """Place boxes of these sizes, the first at the top. sizes: width and height."""
    if not sizes:
        return Laid(0, 0, {}, [])
    back = _back_edges(list(sizes), edges)
    layer = _layers(list(sizes), edges, back)
    net, chains = _net(sizes, edges, back, layer)
    order(net)
    right_of, below = across(net), down(net)
    left = min(right_of[name] - net.sizes[name][0] / 2 for name in right_of)
    right = max(right_of[name] + net.sizes[name][0] / 2 for name in right_of)
    spots: dict[Name, Point] = {name: (right_of[name] - left, below[name]) for name in right_of}
    ways = [_way(chain, spots, net, turned=number in back) for number, chain in enumerate(chains)]
    height = max(spots[name][1] + sizes[name][1] / 2 for name in sizes)
    return Laid(right - left, height, {name: spots[name] for name in sizes}, ways)


def _back_edges(names: Sequence[str], edges: Sequence[Edge]) -> set[int]:
    """Return the edges, by number, that close a cycle when the graph is walked from its first box."""
    leaving: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for number, edge in enumerate(edges):
        leaving[edge.source].append((number, edge.target))
    found, done, open_ = set[int](), set[str](), set[str]()

    def walk(name: str) -> None:
        open_.add(name)
        for number, target in leaving[name]:
            if target in open_:
                found.add(number)
            elif target not in done:
                walk(target)
        open_.discard(name)
        done.add(name)

    for name in names:
        if name not in done:
            walk(name)
    return found


def _layers(names: Sequence[str], edges: Sequence[Edge], back: set[int]) -> dict[str, int]:
    """Return the layer number of each box: one below the lowest box that leads to it."""
    above: dict[str, set[str]] = {name: set() for name in names}
    for number, edge in enumerate(edges):
        upper, lower = (edge.target, edge.source) if number in back else (edge.source, edge.target)
        if upper != lower:
            above[lower].add(upper)
    found: dict[str, int] = {}

    def layer(name: str) -> int:
        if name not in found:
            found[name] = 1 + max(map(layer, above[name]), default=-1)
        return found[name]

    for name in names:
        layer(name)
    return found


def _net(
    sizes: Mapping[str, Point], edges: Sequence[Edge], back: set[int], layer: Mapping[str, int]
) -> tuple[Net, list[list[Name]]]:
    own: dict[Name, Point] = dict(sizes.items())
    net = Net([[] for _ in range(1 + max(layer.values()))], own)
    for name in sizes:
        net.layers[layer[name]].append(name)
    return net, [_chain(net, edge, layer, turned=number in back) for number, edge in enumerate(edges)]


def _chain(net: Net, edge: Edge, layer: Mapping[str, int], *, turned: bool) -> list[Name]:
    """Return the box, bends and box of an edge, from top to bottom."""
    upper, lower = (edge.target, edge.source) if turned else (edge.source, edge.target)
    if upper == lower:
        return [upper, lower]
    chain: list[Name] = [upper]
    for number in range(layer[upper] + 1, layer[lower]):
        bend = ("bend", edge.source if turned else edge.target, edge.kind, number, turned)
        if bend not in net.sizes:
            net.sizes[bend] = (0.0, 0.0)
            net.layers[number].append(bend)
        chain.append(bend)
    chain.append(lower)
    for above, below in pairwise(chain):
        bends = isinstance(above, tuple) + isinstance(below, tuple)
        net.link(above, below, _STRAIGHT if bends == 2 or (edge.straight and not bends) else 1.0)
    return chain


def _way(chain: Sequence[Name], spots: Mapping[Name, Point], net: Net, *, turned: bool) -> list[Point]:
    """Return the points from the lower side of the upper box to the upper side of the lower one. turned: in reverse."""
    first, last = chain[0], chain[-1]
    # A backward edge leaves beside the forward ones.
    shift = net.sizes[first][0] / 4 if turned else 0.0
    begin = (spots[first][0] + shift, spots[first][1] + net.sizes[first][1] / 2)
    end = (spots[last][0] + shift, spots[last][1] - net.sizes[last][1] / 2)
    bends = [
        (x, y + side * net.sizes[name][1] / 2) for name in chain[1:-1] for x, y in [spots[name]] for side in (-1, 1)
    ]
    points = [begin, *bends, end]
    return points[::-1] if turned else points
