"""CloudWatch's evaluation of an alarm, with the metric math that the template uses.

A metric without a data point in a period is missing there. A function of several metrics is missing where one of them
is, unless FILL has replaced it: stricter than CloudWatch, whose guide does not say what it does with each of them.
"""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

type Points = Sequence[float | None]
"""A value for each period, the newest last; None where nothing was reported."""

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanThreshold": operator.lt,
}
_FUNCTIONS: dict[str, Callable[[list[float]], float]] = {"SUM": sum, "MAX": max, "MIN": min}


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric with its statistic. resource: the logical id in its only dimension; empty if it has none."""

    namespace: str
    name: str
    dimension: str
    resource: str
    statistic: str
    period: int


def metrics(alarm: Mapping[str, Any]) -> dict[str, Metric]:
    """The metrics of an alarm by their ids. One without metric math has the id `only`."""
    if "Metrics" not in alarm:
        return {"only": _metric(alarm, alarm.get("Statistic") or alarm["ExtendedStatistic"], alarm["Period"])}
    found = {query["Id"]: query["MetricStat"] for query in alarm["Metrics"] if "MetricStat" in query}
    return {name: _metric(body["Metric"], body["Stat"], body["Period"]) for name, body in found.items()}


def is_on(alarm: Mapping[str, Any], data: Mapping[Metric, Points], parameters: Mapping[str, float]) -> bool:
    """Returns True if the alarm is in state ALARM. parameters: of the template, for a threshold that is a parameter."""
    threshold = alarm["Threshold"]
    limit = parameters[threshold["Ref"]] if isinstance(threshold, dict) else threshold
    missing = alarm["TreatMissingData"] == "breaching"
    compare = _COMPARISONS[alarm["ComparisonOperator"]]
    values = [_value(alarm, data, back) for back in range(1, alarm["EvaluationPeriods"] + 1)]
    breaching = [missing if value is None else compare(value, limit) for value in values]
    needed: int = alarm.get("DatapointsToAlarm", alarm["EvaluationPeriods"])
    return sum(breaching) >= needed


def _metric(named: Mapping[str, Any], statistic: str, period: int) -> Metric:
    namespace = named["Namespace"] if isinstance(named["Namespace"], str) else "own"
    pairs = [(one["Name"], _resource(one["Value"])) for one in named.get("Dimensions", [])]
    ((dimension, resource),) = pairs or [("", "")]
    return Metric(namespace, named["MetricName"], dimension, resource, statistic, period)


def _resource(value: Any) -> str:
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), _]}:
            return name
    raise ValueError(f"not the name of a resource: {value}")


def _value(alarm: Mapping[str, Any], data: Mapping[Metric, Points], back: int) -> float | None:
    """The value compared by the alarm, this many periods back."""
    points = {name: data.get(metric, ()) for name, metric in metrics(alarm).items()}
    values = {name: own[-back] if len(own) >= back else None for name, own in points.items()}
    if "Metrics" not in alarm:
        return values["only"]
    formulas = {query["Id"]: query["Expression"] for query in alarm["Metrics"] if "Expression" in query}
    (watched,) = (query["Id"] for query in alarm["Metrics"] if query.get("ReturnData", True))
    (result,) = _Evaluation(values, formulas).run(watched)
    return result


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """An evaluation of formulas. values: of the metrics in one period. formulas: expressions by their ids."""

    values: Mapping[str, float | None]
    formulas: Mapping[str, str]

    def run(self, name: str) -> list[float | None]:
        if name in self.values:
            return [self.values[name]]
        return list(self._series(ast.parse(self.formulas[name], mode="eval").body))

    def _series(self, node: ast.expr) -> Iterator[float | None]:
        match node:
            case ast.Name(id=name):
                yield from self.run(name)
            case ast.List(elts=nodes):
                for inner in nodes:
                    yield from self._series(inner)
            case ast.Call(func=ast.Name(id="METRICS"), args=[]):
                yield from self.values.values()
            case ast.Call(func=ast.Name(id="FILL"), args=[inner, ast.Constant(value=float() | int() as filling)]):
                yield from (filling if value is None else value for value in self._series(inner))
            case ast.Call(func=ast.Name(id=function), args=[inner]) if function in _FUNCTIONS:
                series = list(self._series(inner))
                known = [value for value in series if value is not None]
                yield _FUNCTIONS[function](known) if len(known) == len(series) else None
            case ast.BinOp(left=inner, op=ast.Div(), right=ast.Constant(value=float() | int() as divisor)):
                yield from (None if value is None else value / divisor for value in self._series(inner))
            case _:
                raise ValueError(f"metric math that is not modelled: {ast.unparse(node)}")
