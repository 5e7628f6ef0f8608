"""Imports on first use: a call that needs no AWS, such as --help, imports no client of AWS."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

LAZY = ("stepwise.operations", "stepwise.cli", "stepwise.local", "stepwise.deployment", "rich")
"""Packages whose modules are loaded at the first access. `from module import name` loads at once."""
_INSIDE = tuple(f"{package}." for package in LAZY)


class _OnFirstUse(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.endswith(".__main__") or not fullname.startswith(_INSIDE):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and spec.loader and not spec.submodule_search_locations:
            spec.loader = LazyLoader(spec.loader)
        return spec


def install() -> None:
    """Install lazy imports in this process."""
    if not any(isinstance(finder, _OnFirstUse) for finder in sys.meta_path):
        sys.meta_path.insert(0, _OnFirstUse())
