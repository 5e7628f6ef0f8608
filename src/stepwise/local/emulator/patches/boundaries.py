"""Applies the permissions boundary in a role's template: MiniStack 1.5.33 drops it, but enforces boundaries."""

from collections.abc import Callable
from typing import Any

_BOUNDARY = "PermissionsBoundary"


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services.cloudformation import provisioners

    role = provisioners._RESOURCE_HANDLERS["AWS::IAM::Role"]
    role |= {"create": _created(role["create"]), "update": _updated(role["update"])}


def _created(create: Callable[..., Any]) -> Callable[..., Any]:
    def create_role(logical_id: str, props: dict[str, Any], *args: Any, **named: Any) -> Any:
        name, attributes = create(logical_id, props, *args, **named)
        _bind(name, props)
        return name, attributes

    return create_role


def _updated(update: Callable[..., Any]) -> Callable[..., Any]:
    def update_role(physical_id: str, old: dict[str, Any], new: dict[str, Any], *args: Any, **named: Any) -> Any:
        name, attributes = update(physical_id, old, new, *args, **named)
        _bind(name, new)
        return name, attributes

    return update_role


def _bind(name: str, props: dict[str, Any]) -> None:
    from ministack.services import iam

    iam._roles[name][_BOUNDARY] = props.get(_BOUNDARY)
