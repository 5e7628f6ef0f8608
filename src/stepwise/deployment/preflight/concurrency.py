"""Computes how many concurrent invocations the limits in the template allow."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .resolve import Resolver, Unresolved
from .target import Target

# A partition serves 1,000 write units a second, a new on-demand table 4,000, and its stream has a shard for each.
SHARDS = 4


@dataclass(frozen=True)
class Limits:
    """Concurrency limits in a target's template, by kind and name."""

    target: Target

    @property
    def resolver(self) -> Resolver:
        return self.target.resolver

    def kinds(self) -> Iterator[tuple[str, Mapping[str, int]]]:
        """Yield each kind of source of invocations, with the maximum concurrency by name."""
        yield "requests of the HTTP API", self._requests()
        yield "batches, items and rows", dict(self._maps())
        yield "messages", self._mapped(":sqs:")
        yield f"records of streams, {SHARDS} shards each", self._mapped(":dynamodb:")
        yield "sweeps", self._sweeps()

    def _requests(self) -> dict[str, int]:
        stages = self.resolver.resources("AWS::ApiGatewayV2::Stage")
        return {name: int(one["DefaultRouteSettings"]["ThrottlingBurstLimit"]) for name, one in stages.items()}

    def _mapped(self, service: str) -> dict[str, int]:
        """Count concurrent batches by function; the mapping of a queue without a limit runs 1,000."""
        found = {}
        for mapping in self.resolver.resources("AWS::Lambda::EventSourceMapping").values():
            if service in mapping["EventSourceArn"]:
                shards = int(mapping.get("ParallelizationFactor", 1)) * SHARDS
                queue = int(mapping.get("ScalingConfig", {}).get("MaximumConcurrency", 1_000))
                function = self._by_name[mapping["FunctionName"]]
                found[function] = (queue if service == ":sqs:" else shards) * self._at_once(function)
        return found

    def _sweeps(self) -> dict[str, int]:
        rules = self.resolver.resources("AWS::Events::Rule")
        return {name: len(rule["Targets"]) for name, rule in rules.items() if "ScheduleExpression" in rule}

    def _maps(self) -> Iterator[tuple[str, int]]:
        """Yield the concurrent invocations of each machine's Map; iterations that wait for a callback need none.

        A Map without a limit, such as over the targets of a command, belongs to a single request and adds no load.
        """
        for name, text in self.target.definitions():
            states = json.loads(text)["States"]
            for state in states.values():
                inner = state.get("ItemProcessor", {}).get("States", {}).values()
                called = [self._called(one) for one in inner if one.get("Resource", "").endswith(":lambda:invoke")]
                if called and state.get("MaxConcurrency") != 0:
                    yield name, self._iterations(state, states) * max(map(self._at_once, called))

    def _iterations(self, state: Mapping[str, Any], states: Mapping[str, Any]) -> int:
        """Return the limit of a Map: a constant, or a variable of the function that returns it."""
        if "MaxConcurrency" in state:
            return int(state["MaxConcurrency"])
        function = self._called(states[state["MaxConcurrencyPath"].split(".")[1]])
        values = [value for name, value in self._variables(function).items() if name.endswith("_MAX_CONCURRENCY")]
        if len(values) != 1:
            raise Unresolved(f"{function}: which variable limits the iterations?")
        return int(values[0])

    def _called(self, task: Mapping[str, Any]) -> str:
        return self._by_arn[task["Parameters"]["FunctionName"]]

    def _at_once(self, function: str) -> int:
        """Count a function and the functions that it calls synchronously."""
        return 1 + sum(name.endswith("_FUNCTION") for name in self._variables(function))

    def _variables(self, function: str) -> Mapping[str, Any]:
        variables: Mapping[str, Any] = self._functions[function].get("Environment", {}).get("Variables", {})
        return variables

    @cached_property
    def _functions(self) -> dict[str, dict[str, Any]]:
        return self.resolver.resources("AWS::Lambda::Function")

    @cached_property
    def _by_name(self) -> dict[str, str]:
        return {self.resolver.resolve({"Ref": name}): name for name in self._functions}

    @cached_property
    def _by_arn(self) -> dict[str, str]:
        return {self.resolver.resolve({"Fn::GetAtt": [name, "Arn"]}): name for name in self._functions}
