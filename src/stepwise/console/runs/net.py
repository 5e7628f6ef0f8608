"""A graph that is being laid out in layers."""

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field

type Name = Hashable
type Point = tuple[float, float]


@dataclass(slots=True)
class Net:
    """Boxes and bends by layer, and the links between neighbours. A bend is a point where an edge passes a layer."""

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
