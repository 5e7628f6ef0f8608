"""The transitions of a test case, computed from the definition and the mocks."""

from collections.abc import Mapping
from typing import Any

from tests.kit.machine import State, inner, retries
from tests.machines.mocks import Case, Script, every_state

# (state, transition): Next, Catch[n], Choices[n], Default, or End
type Transition = tuple[str, str]


def transitions(machine: str) -> set[Transition]:
    """Every transition out of a state."""
    return {(name, way) for name, state in every_state(machine).items() for way in _ways(state)}


def walk(case: Case) -> list[Transition]:
    """The transitions on the case's path. Raises ValueError if the definition with these mocks does not lead there."""
    states, script, taken = every_state(case.machine), case.script(), []
    for path in _paths(case, states):
        for name, following in zip(path, [*path[1:], None], strict=True):
            taken.append((name, _way(name, states[name], following, script)))
    odd = {state for state, answers in script.answers.items() if script.tries[state] != len(answers)}
    if odd:
        raise ValueError(f"responses are left over: {sorted(odd)}")
    return taken


def _paths(case: Case, states: Mapping[str, State]) -> list[list[str]]:
    """The path, and that of each iteration of a Map and each branch of a Parallel."""
    within = inner_states(case.machine)
    starts = {machine["StartAt"] for state in states.values() for machine in inner(state)}
    outer, rows = [], []
    for name in case.expected.states:
        if name in starts:
            rows.append([name])
        elif name in within:
            rows[-1].append(name)
        else:
            outer.append(name)
    return [outer, *rows]


def inner_states(machine: str) -> set[str]:
    """The states inside a Map or a Parallel."""
    return {name for state in every_state(machine).values() for part in inner(state) for name in part["States"]}


def _ways(state: State) -> dict[str, str | None]:
    """The target of each transition out of a state; None if the path ends there."""
    ways: dict[str, str | None] = {
        f"{field}[{number}]": rule["Next"]
        for field in ("Catch", "Choices")
        for number, rule in enumerate(state.get(field, []))
    }
    ways |= {field: state[field] for field in ("Next", "Default") if field in state}
    return ways if {"Next", "Default"} & set(ways) else ways | {"End": None}


def _way(name: str, state: State, following: str | None, script: Script) -> str:
    caught = {state["Type"] == "Task" and _fails(name, state, script)} if not inner(state) else {True, False}
    found = [way for way, to in _ways(state).items() if to == following and way.startswith("Catch") in caught]
    if len(found) > 1 and state["Type"] == "Map":
        # The Map's iterations catch every error.
        found = [way for way in found if not way.startswith("Catch")]
    if len(found) > 1 and state["Type"] == "Choice":
        found = [_chosen(state, script.last["Return"]["Payload"])]
    if len(found) != 1:
        raise ValueError(f"{name} does not lead to {following}, but as {_ways(state)} says")
    return found[0]


def _chosen(state: State, given: Mapping[str, Any]) -> str:
    """The target of a Choice with several rules for one state, by the last answer. The rules compare numbers."""
    for number, rule in enumerate(state["Choices"]):
        if given[rule["Variable"].rpartition(".")[2]] == rule["NumericEquals"]:
            return f"Choices[{number}]"
    return "Default"


def _fails(name: str, state: State, script: Script) -> bool:
    """Returns True if a task finally fails, with its Retry used up."""
    tried = 0
    while "Throw" in (response := script.next(name)):
        if tried >= retries(state, response["Throw"]["Error"]):
            return True
        tried += 1
    return False
