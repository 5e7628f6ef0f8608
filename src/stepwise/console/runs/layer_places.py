"""Positions in a layered graph: the order of boxes; across, as straight as gaps allow; down, by layer."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

type Name = Hashable
type Point = tuple[float, float]


@dataclass(slots=True)
class Net:
    """Boxes and bends by layer, and the links between neighbors. A bend is a point where an edge passes a layer."""

    layers: list[list[Name]]
    sizes: dict[Name, Point]
    weights: dict[tuple[Name, Name], float] = field(default_factory=dict)
    up: dict[Name, list[Name]] = field(default_factory=lambda: defaultdict(list))
    down: dict[Name, list[Name]] = field(default_factory=lambda: defaultdict(list))

    def link(self, upper: Name, lower: Name, weight: float) -> None:
        if (upper, lower) not in self.weights:
            self.up[lower].append(upper)
            self.down[upper].append(lower)
        self.weights[upper, lower] = max(weight, self.weights.get((upper, lower), 0))


_GAP_X, _GAP_Y = 24.0, 38.0
_PLACINGS = 16


def across(net: Net) -> dict[Name, float]:
    """Return the middle of each box and bend, from left to right."""
    found: dict[Name, float] = {}
    for layer in net.layers:
        found.update(_spread(layer, net, dict.fromkeys(layer, 0.0), dict.fromkeys(layer, 1.0)))
    for placing in range(_PLACINGS):
        layers = net.layers if placing % 2 == 0 else net.layers[::-1]
        for layer in layers:
            wanted = {name: _wanted(net, name, found) for name in layer}
            weights = {name: 1.0 + len(net.up.get(name, ())) + len(net.down.get(name, ())) for name in layer}
            found.update(_spread(layer, net, wanted, weights))
    return found


def _wanted(net: Net, name: Name, found: Mapping[Name, float]) -> float:
    """Return the weighted mean of a box's neighbors."""
    links = [(one, net.weights[one, name]) for one in net.up.get(name, ())]
    links += [(one, net.weights[name, one]) for one in net.down.get(name, ())]
    total = sum(weight for _, weight in links)
    return sum(found[one] * weight for one, weight in links) / total if total else found[name]


def _spread(
    layer: Sequence[Name], net: Net, wanted: Mapping[Name, float], weights: Mapping[Name, float]
) -> dict[Name, float]:
    """Return the positions nearest to the wanted ones that keep order and gaps (pool adjacent violators)."""
    offsets, at = list[float](), 0.0
    for number, name in enumerate(layer):
        at += _apart(net, layer[number - 1], name) if number else 0.0
        offsets.append(at)
    pools: list[tuple[float, float, int]] = []
    for name, offset in zip(layer, offsets, strict=True):
        mean, weight, count = wanted[name] - offset, weights[name], 1
        while pools and pools[-1][0] > mean:
            other, more, number = pools.pop()
            mean, weight, count = (mean * weight + other * more) / (weight + more), weight + more, count + number
        pools.append((mean, weight, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    return {name: mean + offset for name, mean, offset in zip(layer, means, offsets, strict=True)}


def _apart(net: Net, left: Name, right: Name) -> float:
    """Return the minimum distance between the middles of neighbors. Two bends may be closer than boxes."""
    gap = _GAP_X if isinstance(left, str) or isinstance(right, str) else _GAP_X / 2
    return (net.sizes[left][0] + net.sizes[right][0]) / 2 + gap


def down(net: Net) -> dict[Name, float]:
    found, top = dict[Name, float](), 0.0
    for layer in net.layers:
        height = max(net.sizes[name][1] for name in layer)
        found.update(dict.fromkeys(layer, top + height / 2))
        # An edge goes straight through the whole height of a layer, beside its boxes.
        net.sizes.update({name: (0.0, height) for name in layer if not isinstance(name, str)})
        top += height + _GAP_Y
    return found


_SWEEPS = 12


def order(net: Net) -> None:
    """Order each layer so that few edges cross."""
    best, fewest = [list(layer) for layer in net.layers], _crossings(net)
    for sweep in range(_SWEEPS):
        downward = sweep % 2 == 0
        beside = net.up if downward else net.down
        numbers = range(1, len(net.layers)) if downward else range(len(net.layers) - 2, -1, -1)
        for number in numbers:
            _sort(net.layers[number], beside, net.layers[number - 1 if downward else number + 1])
        if (crossings := _crossings(net)) < fewest:
            best, fewest = [list(layer) for layer in net.layers], crossings
    net.layers = best


def _sort(layer: list[Name], beside: Mapping[Name, list[Name]], fixed: Sequence[Name]) -> None:
    place = {name: number for number, name in enumerate(fixed)}
    old = {name: number for number, name in enumerate(layer)}

    def barycenter(name: Name) -> float:
        seen = [place[one] for one in beside[name]] if name in beside else []
        return sum(seen) / len(seen) if seen else old[name]

    layer.sort(key=lambda name: (barycenter(name), old[name]))


def _crossings(net: Net) -> int:
    found = 0
    for upper, lower in pairwise(net.layers):
        place = {name: number for number, name in enumerate(lower)}
        ends = [sorted(place[below] for below in net.down[name]) if name in net.down else [] for name in upper]
        flat = [end for group in ends for end in group]
        groups = [number for number, group in enumerate(ends) for _ in group]
        found += sum(
            flat[one] > flat[two] and groups[one] != groups[two]
            for one in range(len(flat))
            for two in range(one + 1, len(flat))
        )
    return found
