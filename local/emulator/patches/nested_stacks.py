"""Nested stacks.

1. The transforms of a nested stack's template run, as on AWS. MiniStack runs those of the root alone.
2. A resource that an update leaves alone keeps its attributes. A nested stack forgets them, and an output that names
   one fails.

`tests/emulator/test_nested_stacks.py` fails once MiniStack does one of these by itself.
"""

from collections.abc import Callable
from typing import Any


def apply() -> None:
    """Change the loaded MiniStack modules. Those that deploy a root keep the functions that they have imported."""
    from ministack.services.cloudformation import changesets, engine, handlers, provisioners

    if not changesets._parse_template is handlers._parse_template is engine._parse_template:
        raise RuntimeError("this MiniStack parses templates in another way; see whether the fix is still needed")
    engine._parse_template = _transformed(engine._parse_template)
    provisioners._update_resource = _keeping_attributes(provisioners._update_resource)


def _transformed(parse: Callable[[str], dict[str, Any]]) -> Callable[[str], dict[str, Any]]:
    def parse_template(body: str) -> dict[str, Any]:
        from ministack.services.cloudformation import engine

        template: dict[str, Any] = engine._apply_transforms(parse(body))
        return template

    return parse_template


def _keeping_attributes(update: Callable[..., Any]) -> Callable[..., Any]:
    def update_resource(
        kind: str, physical_id: str, old: Any, new: Any, stack: str, name: str, attributes: Any = None
    ) -> Any:
        from ministack.services.cloudformation import _stacks

        known = _stacks[stack]["_resources"].get(name, {}).get("Attributes")
        return update(kind, physical_id, old, new, stack, name, attributes or known)

    return update_resource
