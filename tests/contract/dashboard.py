"""The dashboard of the template: its widgets, and their metrics without shorthand."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.kit.template import of_type

_DIMENSIONS_AT = 2


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric. dimensions: name -> value, in the template's notation: `${OrderSaga}`."""

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...]


def body() -> dict[str, Any]:
    """The dashboard as JSON, with references unresolved. Raises ValueError if it is not JSON."""
    (properties,) = of_type("AWS::CloudWatch::Dashboard").values()
    parsed: dict[str, Any] = json.loads(properties["DashboardBody"]["Fn::Sub"])
    return parsed


def references() -> set[str]:
    """The names in `${...}`: resources, their attributes, pseudo parameters."""
    return set(re.findall(r"\$\{([^}]+)\}", json.dumps(body())))


def widgets(kind: str) -> list[dict[str, Any]]:
    """The properties of all widgets of a kind."""
    return [widget["properties"] for widget in body()["widgets"] if widget["type"] == kind]


def metrics() -> Iterator[Metric]:
    """Every metric of every widget."""
    for properties in widgets("metric"):
        line: list[str] = []
        for entry in properties["metrics"]:
            line = _written_out([part for part in entry if isinstance(part, str)], line)
            pairs = line[_DIMENSIONS_AT:]
            yield Metric(line[0], line[1], tuple(zip(pairs[::2], pairs[1::2], strict=True)))


def _written_out(line: list[str], before: list[str]) -> list[str]:
    """CloudWatch's shorthand: `.` repeats one part of the previous line, `...` all missing ones."""
    if line[0] == "...":
        line = before[: len(before) - len(line) + 1] + line[1:]
    return [before[place] if part == "." else part for place, part in enumerate(line)]
