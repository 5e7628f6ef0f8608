"""Validates each state machine's definition with Step Functions: `ValidateStateMachineDefinition`."""

from collections.abc import Iterator

from .part import Finding, Verdict
from .target import Target


def examine(target: Target) -> Iterator[Finding]:
    client = target.client("stepfunctions")
    for name, definition in target.definitions():
        answer = client.validate_state_machine_definition(definition=definition, severity="WARNING")
        found = [f"{one.get('location', '')} {one['message']}".strip() for one in answer["diagnostics"]]
        worst = Verdict.LOOK if found else Verdict.OK
        yield Finding(name, Verdict.FAILED if answer["result"] == "FAIL" else worst, "\n".join(found))
