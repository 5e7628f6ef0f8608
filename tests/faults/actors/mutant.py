"""Mutants: small patches of the loaded code, whose docstrings say what goes wrong.

`focus` says where their faults are drawn, so that a few schedules suffice.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from ministack.services import stepfunctions

from tests.faults import finds
from tests.faults.actors.schedule import THROTTLED_FOR, Focus, Schedule
from tests.faults.mutant import replaced

type Patch = Callable[[], AbstractContextManager[Any]]
_SCHEDULES = 300


@dataclass(frozen=True, slots=True)
class Mutant:
    """A patch. invariants: the first to break must be one of these. focus: where faults are drawn; nowhere if empty."""

    patch: Patch
    invariants: frozenset[str]
    focus: Focus


class Mutants(dict[str, Mutant]):
    """The mutants of an explorer, by name."""

    def __call__(self, name: str, *broken: str, focus: Focus = ()) -> Callable[[Patch], Patch]:
        """Register a patch."""

        def register(patch: Patch) -> Patch:
            self[name] = Mutant(patch, frozenset(broken), focus)
            return patch

        return register


THROTTLED: Focus = ((r"^account$", (THROTTLED_FOR,)),)


def with_tries(most: int) -> AbstractContextManager[None]:
    """Give a throttled state fewer tries than its definition."""
    find = stepfunctions._find_matching_retrier

    def found(retriers: Any, error: str, counts: Mapping[int, int]) -> Any:
        retrier, index = find(retriers, error, counts)
        over = error == "Lambda.TooManyRequestsException" and counts.get(index, 0) >= most - 1
        return (None, index) if over else (retrier, index)

    return replaced(stepfunctions, "_find_matching_retrier", found)


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a search. outcome: the first that broke an invariant, if any. tried: number of schedules.

    seed: that of the last.
    """

    outcome: Any
    tried: int
    seed: int = 0


type Findings = Mapping[str, Future[Finding]]
"""The searches of an explorer, by the mutant's name."""


def missed(finding: Finding, mutant: Mutant) -> str:
    """Explain why a search has not found its mutant; empty if it has."""
    if finding.outcome is None:
        return f"{finding.tried} schedules broke no invariant"
    violations = finding.outcome.violations
    return "" if violations[0][0] in mutant.invariants else f"other invariants broke: {violations}"


def found(kind: type[Schedule], name: str, mutant: Mutant, play: Callable[[int, Focus], Any]) -> Finding:
    """Apply the mutant in this process, and play schedules until one fails, first the one that failed before."""
    known = finds.of(kind.NAME).get(name)
    seeds = [seed for seed in range(1, _SCHEDULES + 1) if seed != known]
    with mutant.patch():
        for tried, seed in enumerate([known, *seeds] if known else seeds, start=1):
            outcome = play(seed, mutant.focus)
            if outcome.violations:
                return Finding(outcome, tried, seed)
    return Finding(None, _SCHEDULES)
