"""The mock file in the format of Step Functions Local, and the expected outcome of each test case."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.kit.machine import MACHINES, State, inner
from tests.kit.project import ROOT, read_json

FILE = ROOT / "tests" / "mocks" / "MockConfigFile.json"
CONFIG = read_json(FILE)
_EXPECTED = read_json(FILE.with_name("expected.json"))
_EVENTS = ROOT / "events/ordering"
# Step Functions Local and moto know no Distributed Map; tests/faults/imports and tests/integration walk its machine.
MOCKED = {name: machine for name, machine in MACHINES.items() if "DISTRIBUTED" not in machine.path.read_text()}
# The input of each machine.
INPUTS: dict[str, Any] = {
    "OrderSaga": read_json(_EVENTS / "process_order.json"),
    "OrderRecovery": read_json(_EVENTS / "process_order.json"),
    "UserImport": {},
    "Command": {"pk": "TENANT#tenant1", "sk": "ORDER#order123", "version": 1, "attempt": 1},
    "ImportZip": {"tenant_code": "tenant1"},
    "AccountOpening": {},
    "AccountSetup": {"application": {"id": "a-1"}},
    "AccountRecovery": {"application": {"id": "a-1"}},
    "Task": {"tenant_code": "tenant1", "task_id": "task-1", "attempt": 1},
}

type Response = Mapping[str, Any]


@dataclass(frozen=True)
class Expected:
    """An outcome. states: in the order of entry, a Parallel branch by branch. output: a part of it. error: of a failed
    execution. cancelled: the states of branches that another branch's failure cancels, sooner or later.
    """

    states: list[str]
    status: str
    output: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    cancelled: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Case:
    """A test case: the machine, the case's name, the response of each mocked state, and the expected outcome."""

    machine: str
    name: str
    mocks: Mapping[str, str]
    expected: Expected

    @property
    def id(self) -> str:
        return f"{self.machine}.{self.name}"

    def script(self) -> "Script":
        return Script({state: responses(name) for state, name in self.mocks.items()})


def responses(name: str) -> list[Response]:
    """A mocked response, one entry for each attempt. Raises ValueError if its numbers have a gap."""
    found: list[Response] = []
    for key, response in CONFIG["MockedResponses"][name].items():
        first, _, last = key.partition("-")
        if int(first) != len(found):
            raise ValueError(f"{name}: {key} does not follow {len(found) - 1}")
        found += [response] * (int(last or first) - int(first) + 1)
    return found


@dataclass
class Script:
    """The answers to the attempts of one execution. Each state has one count, however often it is entered."""

    answers: Mapping[str, list[Response]]
    tries: Counter[str] = field(default_factory=Counter)
    last: Response = field(default_factory=dict)

    def next(self, state: str) -> Response:
        """The next answer. Raises LookupError if the case has none for this attempt."""
        self.tries[state] += 1
        self.last = self.answers[state][self.tries[state] - 1]
        return self.last


def _cases() -> dict[str, Case]:
    found = [
        Case(machine, name, mocks, Expected(**_EXPECTED[machine][name]))
        for machine, about in CONFIG["StateMachines"].items()
        for name, mocks in about["TestCases"].items()
    ]
    return {case.id: case for case in found}


CASES = _cases()


def definition(machine: str) -> Any:
    """A definition as deployed, but with ARNs of resources that need not exist."""
    text = MACHINES[machine].path.read_text().replace("${Partition}", "aws")
    for name in MACHINES[machine].substitutions:
        text = text.replace(f"${{{name}}}", _value(name))
    return json.loads(text)


def _value(substitution: str) -> str:
    if substitution.endswith("Seconds"):
        return "60"
    service = "lambda:us-east-1:123456789012:function" if "Function" in substitution else "sns:us-east-1:123456789012"
    return f"arn:aws:{service}:{substitution.removesuffix('Arn')}"


def every_state(machine: str) -> dict[str, State]:
    """All states of a machine by name, including those inside a Map or a Parallel."""
    return _states(definition(machine))


def _states(definition: Mapping[str, Any]) -> dict[str, State]:
    found = dict(definition["States"])
    for state in definition["States"].values():
        for machine in inner(state):
            found |= _states(machine)
    return found
