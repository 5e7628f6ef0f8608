"""Mutants of commands, by name.

Each is a small patch of the loaded code. `focus` says where its faults are drawn: a few schedules must do.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from tests.faults import faults as f
from tests.faults.commands.schedule import Focus

type Patch = Callable[[], AbstractContextManager[Any]]

DEAD_FIRST = (r"^(set_ttl_command|transform_data)@1\.1$", (f.ABORTED_BEFORE,))
"""Where the first version dies."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """invariants: the one that breaks first is one of these. focus: where faults are drawn; nowhere if empty."""

    patch: Patch
    invariants: frozenset[str]
    focus: Focus


MUTANTS: dict[str, Mutant] = {}


def mutant(name: str, *broken: str, focus: Focus = ()) -> Callable[[Patch], Patch]:
    def register(patch: Patch) -> Patch:
        MUTANTS[name] = Mutant(patch, frozenset(broken), focus)
        return patch

    return register
