"""Nested stacks.

1. The template of a nested stack is transformed, as on AWS. MiniStack 1.5.33 transforms only the root's, so an
   `AWS::Serverless` resource in a child fails.
2. A resource that an update leaves unchanged keeps its attributes. A nested stack forgets them, and an output that
   names one fails.
3. A resource keeps its physical name through updates. MiniStack gives the first bucket of a nested stack a random name,
   and uses the randomness in the names of what it creates after the bucket, but not in those that an update expects:
   it replaces the resources, and deletes executions, functions and their queued events.
"""

import contextvars
from collections.abc import Callable
from typing import Any

_parameters = contextvars.ContextVar[dict[str, Any]]("parameters")
# True while a nested stack creates a resource. An update keeps the seed of the resource's name, or chooses another.
_creating = contextvars.ContextVar("creating", default=False)


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services.cloudformation import provisioners

    provisioners._cfn_nested_stack_deploy = _in_a_nested_stack(provisioners._cfn_nested_stack_deploy)
    provisioners._check_nested_stack_capabilities = _transforming(provisioners._check_nested_stack_capabilities)
    # The module that deploys a root has already imported both functions, and keeps them.
    provisioners._update_resource = _keeping_attributes(provisioners._update_resource)
    provisioners._provision_resource = _without_seed(provisioners._provision_resource)


def _in_a_nested_stack(deploy: Callable[..., Any]) -> Callable[..., Any]:
    def deploy_nested_stack(logical_id: str, props: dict[str, Any], *args: Any, **named: Any) -> Any:
        parameters, creating = _parameters.set(props.get("Parameters") or {}), _creating.set(True)
        try:
            return deploy(logical_id, props, *args, **named)
        finally:
            _creating.reset(creating)
            _parameters.reset(parameters)

    return deploy_nested_stack


def _without_seed(provision: Callable[..., Any]) -> Callable[..., Any]:
    def provision_resource(*args: Any) -> Any:
        from ministack.services.cloudformation import provisioners

        if not _creating.get():
            return provision(*args)
        token = provisioners._NAME_SEED.set("")
        try:
            return provision(*args)
        finally:
            provisioners._NAME_SEED.reset(token)

    return provision_resource


def _transforming(check: Callable[[str, dict[str, Any]], None]) -> Callable[[str, dict[str, Any]], None]:
    def check_nested_stack_capabilities(parent: str, template: dict[str, Any]) -> None:
        from ministack.services.cloudformation import engine

        check(parent, template)
        given = [{"Key": name, "Value": str(value)} for name, value in _parameters.get().items()]
        transformed = engine._apply_transforms(template, given)
        if isinstance(transformed, engine._TransformFailed):
            raise ValueError(transformed.error)
        # The caller continues with the template that it passed.
        transformed = dict(transformed)
        template.clear()
        template.update(transformed)

    return check_nested_stack_capabilities


def _keeping_attributes(update: Callable[..., Any]) -> Callable[..., Any]:
    def update_resource(
        kind: str, physical_id: str, old: Any, new: Any, stack: str, name: str, attributes: Any = None
    ) -> Any:
        from ministack.services.cloudformation import _stacks

        known = _stacks[stack]["_resources"].get(name, {}).get("Attributes")
        token = _creating.set(False)
        try:
            return update(kind, physical_id, old, new, stack, name, attributes or known)
        finally:
            _creating.reset(token)

    return update_resource
