"""The order of boxes within their layers, so that few edges cross."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from .net import Name, Net

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
