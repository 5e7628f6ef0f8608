"""Enforces the deployment role: MiniStack 1.5.33 ignores a stack's role, and creates whatever a template asks for.

1. A stack keeps its role (`RoleARN`), also for its nested stacks. The caller must be allowed to pass it.
2. A resource is created, updated or deleted only if the role (the caller, if there is none) has the permissions that
   CloudFormation needs (`stepwise.local.permissions`). Otherwise the operation fails with AWS's error message.
3. A call that names a change set by its ARN alone is checked on the stack of that change set, and a call that gets
   parameters by their path on that path, as AWS does; MiniStack checks both on no resource.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from stepwise.local.permissions import Permission, Place, needed

type Answer = tuple[int, dict[str, str], bytes]

_STACK, _SECRET = "AWS::CloudFormation::Stack", "AWS::SecretsManager::Secret"
_CREATE, _UPDATE, _DELETE = ((operation, "read") for operation in ("create", "update", "delete"))
_ROLE, _CALLER = "RoleARN", "_caller"
_PASSED = frozenset({("iam:PassedToService", "cloudformation.amazonaws.com")})


class AccessDenied(Exception):
    """The role lacks a permission; the message is AWS's."""


def apply() -> None:
    """Patch the loaded MiniStack modules."""
    from ministack.core import iam_actions
    from ministack.services.cloudformation import handlers, provisioners, stacks

    iam_actions.extract_resource_arn = _naming_the_resource(iam_actions.extract_resource_arn)
    for action in ("CreateStack", "UpdateStack", "DeleteStack", "CreateChangeSet", "ExecuteChangeSet"):
        handlers._ACTION_HANDLERS[action] = _noting(handlers._ACTION_HANDLERS[action])
    delete = provisioners._delete_resource
    # The module that deploys a root has already imported the functions.
    for module in (provisioners, stacks):
        module._provision_resource = _allowed_create(module._provision_resource, delete)
        module._update_resource = _allowed_update(module._update_resource)
        module._delete_resource = _allowed_delete(module._delete_resource)


def _naming_the_resource(extract: Callable[..., str]) -> Callable[..., str]:
    def extract_resource_arn(
        service: str, method: str, path: str, headers: Any, body: bytes, query: Mapping[str, Any], *more: Any
    ) -> str:
        from ministack.services.cloudformation import _change_sets

        arn = extract(service, method, path, headers, body, query, *more)
        if arn != "*":
            return arn
        if service == "ssm" and (root := json.loads(body or b"{}").get("Path")):
            region, account = more
            return f"arn:aws:ssm:{region}:{account}:parameter{root}"
        if service != "cloudformation":
            return arn
        named = query.get("ChangeSetName") or ""
        found = _change_sets.get(named[0] if isinstance(named, list) else named)
        return str(found["StackId"]) if found else arn

    return extract_resource_arn


def _noting(handle: Callable[[dict[str, Any]], Answer]) -> Callable[[dict[str, Any]], Answer]:
    """Note who carries out an operation, before its task begins."""

    def handler(params: dict[str, Any]) -> Answer:
        from ministack.core.iam_evaluator import caller_arn
        from ministack.services.cloudformation import handlers

        role, caller = handlers._p(params, _ROLE), caller_arn()
        if role and not _allowing(caller)(Permission("iam:PassRole", role, _PASSED)):
            refused: Answer = handlers._error("AccessDenied", _reason(caller, "iam:PassRole", role), 403)
            return refused
        answer = handle(params)
        if answer[0] == 200 and (stack := handlers._resolve_stack(handlers._p(params, "StackName"))):
            stack[_CALLER] = caller
            stack |= {_ROLE: role} if role else {}
        return answer

    return handler


def _allowed_create(provision: Callable[..., Any], delete: Callable[..., None]) -> Callable[..., Any]:
    def provision_resource(kind: str, logical_id: str, props: dict[str, Any], stack: str) -> Any:
        principal = _principal(stack)
        if not principal:
            return provision(kind, logical_id, props, stack)
        if kind == _STACK:
            _check(principal, kind, f"{stack}-{logical_id}-0", props, _CREATE)
        physical_id, attributes = provision(kind, logical_id, props, stack)
        try:
            # MiniStack has given the resource its name by now.
            _check(principal, kind, _name(kind, logical_id, physical_id, props), props, _CREATE)
        except AccessDenied:
            delete(kind, physical_id, props, stack, logical_id)
            raise
        return physical_id, attributes

    return provision_resource


def _allowed_update(update: Callable[..., Any]) -> Callable[..., Any]:
    def update_resource(
        kind: str, physical_id: str, old: Any, new: dict[str, Any], stack: str, name: str, *more: Any
    ) -> Any:
        if (principal := _principal(stack)) and (old != new or kind == _STACK):
            _check(principal, kind, _name(kind, name, physical_id, new), new, _UPDATE)
        return update(kind, physical_id, old, new, stack, name, *more)

    return update_resource


def _allowed_delete(delete: Callable[..., None]) -> Callable[..., None]:
    def delete_resource(
        kind: str, physical_id: str, props: dict[str, Any], stack: str | None = None, logical_id: str | None = None
    ) -> None:
        if principal := _principal(stack):
            _check(principal, kind, _name(kind, logical_id or "", physical_id, props), props, _DELETE)
        delete(kind, physical_id, props, stack, logical_id)

    return delete_resource


def _principal(stack: str | None) -> str:
    """Return the role of a stack, or the caller; with a nested stack, the root's. Empty for the root user."""
    from ministack.services.cloudformation import _stacks

    found = _stacks.get(stack, {})
    while parent := found.get("_parent_stack_name"):
        found = _stacks.get(parent, {})
    principal = str(found.get(_ROLE) or found.get(_CALLER, ""))
    return "" if principal.endswith(":root") else principal


def _name(kind: str, logical_id: str, physical_id: str, props: Mapping[str, Any]) -> str:
    """Return the part of a physical id that is the name in the resource's ARN."""
    # On AWS, the generated name of a secret has no stack in it.
    if kind == _SECRET and "Name" not in props:
        return f"{logical_id}-0"
    if physical_id.startswith("http"):
        return physical_id.rpartition("/")[2]
    if not physical_id.startswith("arn:"):
        return physical_id
    first, *rest = re.split("[:/]", physical_id.split(":", 5)[5])
    return rest[0] if rest else first


def _check(principal: str, kind: str, name: str, props: Mapping[str, Any], operations: tuple[str, ...]) -> None:
    """Raise AccessDenied unless a user or a role may do what the operations need."""
    from ministack.core.responses import get_account_id, get_region

    allows = _allowing(principal)
    for need in sorted(
        needed(kind, name, props, Place(get_region(), get_account_id(), principal), operations), key=str
    ):
        if not allows(need):
            raise AccessDenied(_reason(principal, need.action, need.resource))


def _reason(principal: str, action: str, resource: str) -> str:
    who = principal
    if ":role/" in principal:
        who = f"{principal.replace(':iam:', ':sts:').replace(':role/', ':assumed-role/')}/AWSCloudFormation"
    return (
        f"User: {who} is not authorized to perform: {action} on resource: {resource} "
        f"because no identity-based policy allows the {action} action"
    )


def _allowing(principal: str) -> Callable[[Permission], bool]:
    """Return a function that tells whether IAM allows something. What does not exist may do nothing."""
    from ministack.core import iam_evaluator
    from ministack.core.responses import get_account_id, get_region
    from ministack.services import iam

    if principal.endswith(":root"):
        return lambda _: True
    # A role, or a session of one, whose name follows.
    account, name = get_account_id(), principal.split("/")[1 if ":assumed-role/" in principal else -1]
    is_user = ":user/" in principal
    gather, known = (
        (iam_evaluator._gather_user_policies, iam._users)
        if is_user
        else (iam_evaluator._gather_role_policies, iam._roles)
    )
    policies, limits = gather(name, account), iam_evaluator._permissions_boundary(known, name, account)

    def allows(need: Permission) -> bool:
        asked = iam_evaluator.EvalContext(
            principal_arn=principal,
            principal_type="User" if is_user else "AssumedRole",
            principal_account=account,
            action=need.action,
            resource_arn=need.resource,
            region=get_region(),
            service_context={key.lower(): value for key, value in need.context},
        )
        return bool(iam_evaluator.evaluate(asked, policies, *limits).decision == "Allow")

    return allows
