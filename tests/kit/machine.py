"""The state machines: each definition with the resource that deploys it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kit.project import read_json
from tests.kit.template import PATH, arn_of, of_type

type State = Mapping[str, Any]

THROTTLED = "Lambda.TooManyRequestsException"


@dataclass(frozen=True, slots=True)
class Machine:
    """A state machine. name: its logical id. path: the file of its definition."""

    name: str
    path: Path
    properties: Mapping[str, Any]
    definition: Mapping[str, Any]

    @property
    def states(self) -> Mapping[str, State]:
        return self.definition["States"]

    @property
    def substitutions(self) -> Mapping[str, Any]:
        return self.properties.get("DefinitionSubstitutions", {})

    @property
    def log_group(self) -> str | None:
        """The logical id of its log group."""
        (destination,) = self.properties["LoggingConfiguration"]["Destinations"]
        return arn_of(destination["CloudWatchLogsLogGroup"]["LogGroupArn"])

    def tasks(self) -> Iterator[tuple[str, State]]:
        """Every Task by name, including those inside a Map or a Parallel."""
        return _tasks(self.definition)


def _tasks(definition: Mapping[str, Any]) -> Iterator[tuple[str, State]]:
    for name, state in definition["States"].items():
        if state["Type"] == "Task":
            yield name, state
        for machine in inner(state):
            yield from _tasks(machine)


def inner(state: State) -> list[Mapping[str, Any]]:
    """The machines inside a state: the branches of a Parallel, or the processor of a Map's items."""
    return [*state.get("Branches", []), *([state["ItemProcessor"]] if "ItemProcessor" in state else [])]


def _machine(name: str, properties: Mapping[str, Any]) -> Machine:
    path = (PATH.parent / properties["DefinitionS3Location"]).resolve()
    return Machine(name, path, properties, read_json(path))


MACHINES: dict[str, Machine] = {
    name: _machine(name, properties) for name, properties in of_type("AWS::StepFunctions::StateMachine").items()
}


def is_lambda(state: State) -> bool:
    return ":states:::lambda:invoke" in state["Resource"]


def is_callback(state: State) -> bool:
    return str(state["Resource"]).endswith(".waitForTaskToken")


def retry_block(state: State) -> str:
    """The state's Retry as text, for comparisons."""
    return json.dumps(state["Retry"])


def retries(state: State, error: str) -> int:
    """The number of retries after an error, by the first retrier that matches."""
    for retrier in state["Retry"]:
        if not {error, "States.ALL"}.isdisjoint(retrier["ErrorEquals"]):
            return int(retrier["MaxAttempts"])
    return 0


def successors(state: State) -> list[str]:
    """The possible next states."""
    branches = [*state.get("Catch", []), *state.get("Choices", []), state]
    ways = [branch["Next"] for branch in branches if "Next" in branch]
    return [*ways, state["Default"]] if "Default" in state else ways


def max_seconds(machine: Machine) -> float:
    """The machine's maximum duration: its longest path, if each task fails at its timeout until no retry is left.

    A throttled attempt fails at once, so it takes only its pause.
    A Parallel state takes as long as its longest branch. Infinite for a machine with a loop or a Map, whose length is
    not in the definition.
    """
    return _longest(machine.states, machine.definition["StartAt"], frozenset())


def _longest(states: Mapping[str, State], name: str, before: frozenset[str]) -> float:
    state = states[name]
    if name in before or state["Type"] == "Map":
        return float("inf")
    branches = (_longest(branch["States"], branch["StartAt"], frozenset()) for branch in state.get("Branches", []))
    after = (_longest(states, successor, before | {name}) for successor in successors(state))
    return seconds_of(state) + max(branches, default=0) + max(after, default=0)


def seconds_of(state: State) -> float:
    """A state's maximum duration, without what runs inside it."""
    if state["Type"] == "Wait":
        return float(state.get("Seconds", "inf"))
    ran = [retrier for retrier in state.get("Retry", []) if retrier["ErrorEquals"] != [THROTTLED]]
    attempts = 1 + sum(retrier["MaxAttempts"] for retrier in ran)
    return attempts * state.get("TimeoutSeconds", 0) + sum(map(pauses, state.get("Retry", [])))


def pauses(retrier: Mapping[str, Any]) -> float:
    """A retrier's total wait in seconds, without jitter."""
    if retrier["MaxAttempts"] == 0:
        return 0
    grown = (retrier["IntervalSeconds"] * retrier["BackoffRate"] ** number for number in range(retrier["MaxAttempts"]))
    return sum(min(delay, retrier["MaxDelaySeconds"]) for delay in grown)
