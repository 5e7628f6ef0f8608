"""Mutants: small patches of the loaded code. `focus` says where their faults are drawn: a few schedules must do."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from tests.faults.actors.schedule import Focus

type Patch = Callable[[], AbstractContextManager[Any]]
_SCHEDULES = 300


@dataclass(frozen=True, slots=True)
class Mutant:
    """invariants: the one that breaks first is one of these. focus: where faults are drawn; nowhere if empty."""

    patch: Patch
    invariants: frozenset[str]
    focus: Focus


class Mutants(dict[str, Mutant]):
    """By name."""

    def __call__(self, name: str, *broken: str, focus: Focus = ()) -> Callable[[Patch], Patch]:
        """Register a patch."""

        def register(patch: Patch) -> Patch:
            self[name] = Mutant(patch, frozenset(broken), focus)
            return patch

        return register


@dataclass(frozen=True, slots=True)
class Finding:
    """outcome: the first that broke an invariant, if any; tried: how many schedules it took."""

    outcome: Any
    tried: int


def found(mutant: Mutant, play: Callable[[int, Focus], Any]) -> Finding:
    """Put the mutant on in this process, and play schedules until one fails. play: a seed."""
    with mutant.patch():
        for seed in range(1, _SCHEDULES + 1):
            outcome = play(seed, mutant.focus)
            if outcome.violations:
                return Finding(outcome, seed)
    return Finding(None, _SCHEDULES)
