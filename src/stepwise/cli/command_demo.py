"""Demonstration of commands: a target that fails, a version that comes too early, and a retry."""

import json
from typing import Any

from rich.console import Console, RenderableType

from entities.command import Key
from stepwise.local.deployment import resources
from stepwise.operations import commands
from stepwise.operations.commands import KeyView
from stepwise.operations.orders import patiently
from stepwise.operations.stack import Stack

from . import command_views, views

TENANT, _ROLE, _POLICY = "shop", "SyncDataRole", "Fault"
_TEA = Key(f"TENANT#{TENANT}", "PRODUCT#tea-01")
_SECONDS = 120


def start(stack: Stack) -> None:
    """Let a target of asynchronous commands fail, and publish two versions of a product."""
    deny = {"Effect": "Deny", "Action": "dynamodb:PutItem", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [deny]})
    stack.client("iam").put_role_policy(RoleName=_role(stack), PolicyName=_POLICY, PolicyDocument=policy)
    for version, price in ((1, 1500), (2, 1600)):
        commands.publish(stack, product("tea-01", version, price))


def show(out: Console, stack: Stack) -> None:
    """Wait until the first version is dead, repair the target, retry, and show the result."""
    before = _blocked(stack)
    stack.client("iam").delete_role_policy(RoleName=_role(stack), PolicyName=_POLICY)
    commands.retry(stack, _TEA, "the target is repaired")
    at_once = commands.publish(stack, product("pot-01", 1, 9000, mode="sync"))
    again = commands.publish(stack, product("pot-01", 1, 9000, mode="sync"))
    *_, after = commands.follow(stack, _TEA, 2, seconds=_SECONDS)
    rows: list[list[RenderableType]] = [
        ["its target fails", f"{_TEA.sk}@1", *_moved(before, after, 1), commands.error_of(before.commands[1])],
        ["arrives before 1 has finished", f"{_TEA.sk}@2", *_moved(before, after, 2), _shown(after)],
        ["synchronous", at_once["sk"], "-", at_once["status"], "had finished when the call returned"],
        ["a duplicate", again["sk"], "-", again["status"], "already published; nothing was repeated"],
    ]
    columns = ["what", "command", "while the target fails", "after its retry", "why"]
    out.print(views.table("Commands: versions of one key, in order", columns, rows))


def _blocked(stack: Stack) -> KeyView:
    """Return the key once its first version is dead and the second one waits. Raises TimeoutError."""
    for _ in patiently(_SECONDS):
        seen = commands.view(stack, _TEA)
        if seen.gate.blocked and seen.commands[2].tokens:
            return seen
    raise TimeoutError(f"{_TEA.sk} is not blocked")


def _moved(before: KeyView, after: KeyView, version: int) -> list[RenderableType]:
    return [command_views.standing(seen.standing(version)) for seen in (before, after)]


def _shown(view: KeyView) -> str:
    return ", ".join(f"{target} shows {version}" for target, version in view.shown.items())


def product(code: str, version: int, price: int, **fields: Any) -> dict[str, Any]:
    """Return a command of a demonstration."""
    return {
        "pk": _TEA.pk,
        "sk": f"PRODUCT#{code}",
        "id": code,
        "code": code,
        "name": code.title(),
        "type": "PRODUCT",
        "version": version,
        "tenant_code": TENANT,
        "attributes": {"category": "kitchen", "price": price, "currency": "JPY"},
        **fields,
    }


def _role(stack: Stack) -> str:
    listed = resources(stack.client("cloudformation"))
    return next(str(one["PhysicalResourceId"]) for one in listed if one["LogicalResourceId"] == _ROLE)
