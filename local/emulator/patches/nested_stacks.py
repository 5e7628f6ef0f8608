"""The template of a nested stack is transformed, as on AWS. MiniStack 1.5.33 transforms that of the root alone, so that
an `AWS::Serverless` resource in a child fails.
"""

import contextvars
from collections.abc import Callable
from typing import Any

_parameters = contextvars.ContextVar[dict[str, Any]]("parameters")


def apply() -> None:
    """Change the loaded MiniStack module."""
    from ministack.services.cloudformation import provisioners

    provisioners._cfn_nested_stack_deploy = _keeping_parameters(provisioners._cfn_nested_stack_deploy)
    provisioners._check_nested_stack_capabilities = _transforming(provisioners._check_nested_stack_capabilities)


def _keeping_parameters(deploy: Callable[..., Any]) -> Callable[..., Any]:
    def deploy_nested_stack(logical_id: str, props: dict[str, Any], *args: Any, **named: Any) -> Any:
        token = _parameters.set(props.get("Parameters") or {})
        try:
            return deploy(logical_id, props, *args, **named)
        finally:
            _parameters.reset(token)

    return deploy_nested_stack


def _transforming(check: Callable[[str, dict[str, Any]], None]) -> Callable[[str, dict[str, Any]], None]:
    def check_nested_stack_capabilities(parent: str, template: dict[str, Any]) -> None:
        from ministack.services.cloudformation import engine

        check(parent, template)
        given = [{"Key": name, "Value": str(value)} for name, value in _parameters.get().items()]
        transformed = engine._apply_transforms(template, given)
        if isinstance(transformed, engine._TransformFailed):
            raise ValueError(transformed.error)
        # The caller goes on with the template that it passed.
        transformed = dict(transformed)
        template.clear()
        template.update(transformed)

    return check_nested_stack_capabilities
