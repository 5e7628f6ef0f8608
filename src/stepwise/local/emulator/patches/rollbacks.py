"""Failed creations and deletions of stacks in MiniStack 1.5.33:

1. A nested stack that fails to be created belongs to its parent, whose rollback deletes it. MiniStack leaves it, with
   everything in it.
2. A nested stack is deleted like a root: by its deletion policies, with events, and not if a resource cannot be
   deleted. MiniStack deletes everything in it, and ignores failures.
3. The rollback of the operation that created a resource deletes it despite `RetainExceptOnCreate`; if it cannot, the
   resource stays in the stack.
4. CloudFormation cannot delete a protected table or a bucket with objects.
5. A stack whose creation was rolled back can only be deleted.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any

type Answer = tuple[int, dict[str, str], bytes]

_STACK = "AWS::CloudFormation::Stack"
_PROTECTED = "DeletionProtectionEnabled"
_ROLLED_BACK = {"ROLLBACK_COMPLETE", "ROLLBACK_FAILED"}

_rolling_back = contextvars.ContextVar("rolling_back", default=False)


def apply() -> None:
    """Patch the loaded MiniStack modules."""
    from ministack.services.cloudformation import handlers, provisioners, stacks

    provisioners._cfn_nested_stack_deploy = _belonging(provisioners._cfn_nested_stack_deploy)
    provisioners._RESOURCE_HANDLERS[_STACK]["delete"] = _delete_nested_stack
    stacks._add_event = _naming_stack(stacks._add_event)
    stacks._roll_back_operation = _deleting_all(stacks._roll_back_operation)
    # The handler of RollbackStack has already imported it.
    handlers._roll_back_operation = stacks._roll_back_operation
    stacks._resource_policy = _but_on_create(stacks._resource_policy)
    table, bucket = (provisioners._RESOURCE_HANDLERS[kind] for kind in ("AWS::DynamoDB::Table", "AWS::S3::Bucket"))
    table |= {action: _typed(table[action]) for action in ("create", "update")}
    table["delete"] = _unless(_protected, table["delete"])
    bucket["delete"] = _unless(_not_empty, bucket["delete"])
    for action in ("CreateStack", "CreateChangeSet"):
        handlers._ACTION_HANDLERS[action] = _unless_rolled_back(handlers._ACTION_HANDLERS[action])


def _belonging(deploy: Callable[..., Any]) -> Callable[..., Any]:
    def deploy_nested_stack(logical_id: str, props: dict[str, Any], parent: str, **named: Any) -> Any:
        from ministack.services.cloudformation import _stacks

        known, updated = set(_stacks), named.get("previous_physical_id")
        try:
            deployed = deploy(logical_id, props, parent, **named)
        except Exception as error:
            if updated in _stacks:
                raise ValueError(_not_updated(_stacks[updated])) from error
            for name in set(_stacks) - known:
                if name.startswith(f"{parent}-{logical_id}-") and _stacks[name]["_parent_stack_name"] == parent:
                    raise ValueError(_not_created(logical_id, props, _stacks[parent], _stacks[name], error)) from error
            raise
        if _rolling_back.get() and updated in _stacks:
            _stacks[updated]["StackStatus"] = "UPDATE_ROLLBACK_COMPLETE"
        return deployed

    return deploy_nested_stack


def _not_created(
    logical_id: str, props: dict[str, Any], parent: dict[str, Any], stack: dict[str, Any], error: Exception
) -> str:
    """Mark a nested stack as failed, and make it a resource of its parent. Returns the reason for the parent."""
    from ministack.services.cloudformation import stacks

    stack_id, name = stack["StackId"], stack["StackName"]
    failed = _failed(stack, "CREATE_FAILED")
    reason = f"The following resource(s) failed to create: [{failed}]. " if failed else str(error)
    stack |= {"StackStatus": "CREATE_FAILED", "StackStatusReason": reason}
    stacks._add_event(stack_id, name, name, _STACK, "CREATE_FAILED", reason, stack_id)
    parent["_resources"][logical_id] = {
        "LogicalResourceId": logical_id,
        "PhysicalResourceId": stack_id,
        "ResourceType": _STACK,
        "ResourceStatus": "CREATE_FAILED",
        "Properties": props,
        "Attributes": {},
        "Timestamp": stack["LastUpdatedTime"],
    }
    return f"Embedded stack {stack_id} was not successfully created: {reason}"


def _not_updated(stack: dict[str, Any]) -> str:
    """Return the reason for the parent."""
    reason = f"The following resource(s) failed to update: [{_failed(stack, 'UPDATE_FAILED')}]. "
    state = "Currently in UPDATE_ROLLBACK_IN_PROGRESS with reason"
    return f"Embedded stack {stack['StackId']} was not successfully updated. {state}: {reason}"


def _failed(stack: dict[str, Any], status: str) -> str:
    """Return the resources that failed so since the last operation of the stack began."""
    from ministack.services.cloudformation import _stack_events

    found: list[str] = []
    for event in reversed(_stack_events[stack["StackId"]]):
        if event["PhysicalResourceId"] == stack["StackId"] and event["ResourceStatus"].endswith("IN_PROGRESS"):
            break
        if event["ResourceStatus"] == status:
            found.insert(0, event["LogicalResourceId"])
    return ", ".join(found)


def _delete_nested_stack(physical_id: str, _: dict[str, Any]) -> None:
    """Delete a nested stack. A thread without an event loop calls this."""
    from ministack.services.cloudformation import _stacks, provisioners, stacks

    stack = _stacks.get(provisioners._nested_stack_lookup_name(physical_id))
    if not stack or stack["StackStatus"] == "DELETE_COMPLETE":
        return
    asyncio.run(stacks._delete_stack_async(stack["StackName"], stack["StackId"]))
    if stack["StackStatus"] != "DELETE_COMPLETE":
        raise ValueError(
            f"Embedded stack {stack['StackId']} was not successfully deleted: {stack['StackStatusReason']}"
        )


def _naming_stack(add: Callable[..., None]) -> Callable[..., None]:
    """Let the event of a nested stack's failure name the stack, and events of a rollback say so."""

    def add_event(
        stack_id: str,
        stack_name: str,
        logical_id: str,
        kind: str,
        status: str,
        reason: str = "",
        physical_id: str = "",
        **more: str,
    ) -> None:
        from ministack.services.cloudformation import _stacks

        if kind == _STACK and not physical_id:
            resource = _stacks[stack_name].get("_resources", {}).get(logical_id, {})
            physical_id = resource.get("PhysicalResourceId", "")
        if _rolling_back.get() and physical_id == stack_id and status in {"UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"}:
            status = status.replace("UPDATE", "UPDATE_ROLLBACK")
        add(stack_id, stack_name, logical_id, kind, status, reason, physical_id, **more)

    return add_event


def _deleting_all(roll_back: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    async def roll_back_operation(
        name: str, stack_id: str, stack: dict[str, Any], operation: dict[str, Any], **more: Any
    ) -> None:
        from ministack.core.responses import now_iso

        resources = stack.get("_resources", {})
        created = operation.get("created", [])
        failed = [one for one, found in resources.items() if found["ResourceStatus"] == "CREATE_FAILED"]
        token = _rolling_back.set(True)
        try:
            await roll_back(name, stack_id, stack, {**operation, "created": [*created, *failed]}, **more)
        finally:
            _rolling_back.reset(token)
        for one, record in stack.get("_rollback_failed", {}).items() if not operation.get("is_update") else ():
            state = {"LogicalResourceId": one, "ResourceStatus": "DELETE_FAILED", "Timestamp": now_iso()}
            resources[one] = {"Attributes": {}, **record, **state}

    return roll_back_operation


def _but_on_create(policy: Callable[..., str]) -> Callable[..., str]:
    def resource_policy(*args: Any) -> str:
        found = policy(*args)
        return "Delete" if found == "RetainExceptOnCreate" and _rolling_back.get() else found

    return resource_policy


def _typed(provision: Callable[..., Any]) -> Callable[..., Any]:
    """Convert the text of a parameter to a Boolean, as CloudFormation does."""

    def provision_table(*args: Any) -> Any:
        return provision(*(_converted(one) if isinstance(one, dict) and _PROTECTED in one else one for one in args))

    return provision_table


def _converted(props: dict[str, Any]) -> dict[str, Any]:
    return {**props, _PROTECTED: str(props[_PROTECTED]).lower() == "true"}


def _unless(refused: Callable[[str], str], delete: Callable[..., None]) -> Callable[..., None]:
    def delete_resource(physical_id: str, props: dict[str, Any]) -> None:
        if reason := refused(physical_id):
            raise ValueError(reason)
        delete(physical_id, props)

    return delete_resource


def _protected(table: str) -> str:
    from ministack.services import dynamodb

    protected = dynamodb._tables.get(table, {}).get(_PROTECTED)
    return "Table is protected against deletion. To delete the table, disable deletion protection." if protected else ""


def _not_empty(bucket: str) -> str:
    from ministack.services import s3

    full = s3._buckets.get(bucket, {}).get("objects") or s3._bucket_has_versions(bucket)
    return "The bucket you tried to delete is not empty" if full else ""


def _unless_rolled_back(handle: Callable[[dict[str, Any]], Answer]) -> Callable[[dict[str, Any]], Answer]:
    def handler(params: dict[str, Any]) -> Answer:
        from ministack.services.cloudformation import handlers

        stack = handlers._resolve_stack(handlers._p(params, "StackName"))
        status = stack["StackStatus"] if stack else ""
        if status not in _ROLLED_BACK:
            return handle(params)
        code, reason = "ValidationError", f"Stack:{stack['StackId']} is in {status} state and can not be updated."
        if handlers._p(params, "ChangeSetType", "CREATE") == "CREATE":
            code, reason = "AlreadyExistsException", f"Stack [{stack['StackName']}] already exists"
        refused: Answer = handlers._error(code, reason)
        return refused

    return handler
