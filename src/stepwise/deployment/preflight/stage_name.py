"""Compares the stack's name with those of other stacks: a pattern for one stack must not match another."""

from collections.abc import Iterator

from stepwise.deployment.names import LIMITS, apart, pattern

from .part import Finding, Verdict
from .target import Target


def examine(target: Target) -> Iterator[Finding]:
    """Examine the name; docs/deploy.md has the rules."""
    name = target.stack_name
    if cut := sorted(kind for kind in LIMITS if not pattern(kind, name).endswith("-*")):
        detail = f"long: CloudFormation truncates it in names of {len(cut)} types, such as {cut[0]}"
        yield Finding(name, Verdict.LOOK, f"{detail}. Pass its first 23 characters to role.yaml as ShortName")
    else:
        yield Finding(name, Verdict.OK, "every generated name begins with it")
    for other in _others(target):
        if not apart(name, other):
            yield Finding(other, Verdict.LOOK, f"a role for {name} could access its resources, or vice versa")


def _others(target: Target) -> Iterator[str]:
    """Yield the names of the Region's other stacks, except nested ones and the stack of role.yaml."""
    for page in target.client("cloudformation").get_paginator("list_stacks").paginate():
        for one in page["StackSummaries"]:
            if "ParentId" not in one and one["StackStatus"] != "DELETE_COMPLETE":
                yield from {one["StackName"]} - {target.stack_name}
