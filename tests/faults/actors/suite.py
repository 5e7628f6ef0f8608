"""Tests shared by all explorers of schedules; each explorer's test module derives a class and adds its own tests."""

from collections.abc import Callable, Collection
from typing import Any

import pytest

from tests.faults.actors.exploring import Explorer
from tests.faults.actors.mutant import Finding, Findings, Mutants, missed
from tests.faults.workers import Workers


class Explored:
    """Tests of an explorer. seeds: seeds of the schedules. replayed: one of the seeds, with at least this many steps.

    rare: kinds of faults that some runs lack.
    """

    explorer: Explorer[Any]
    mutants: Mutants
    hunt: Callable[[str], Finding]
    kinds: Collection[str]
    seeds: range
    replayed: tuple[str, int]
    rare: Collection[str] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "mutant" in metafunc.fixturenames:
            metafunc.parametrize("mutant", self.mutants)

    @pytest.fixture(scope="class")
    @classmethod
    def totals(cls, own_workers: Workers) -> Any:
        return list(cls.explorer.explored(own_workers.pool, cls.seeds.start, len(cls.seeds)))[-1]

    @pytest.fixture(scope="class")
    @classmethod
    def findings(cls, own_workers: Workers) -> Findings:
        return {name: own_workers.pool.submit(cls.hunt, name) for name in cls.mutants}

    def test_no_schedule_breaks_an_invariant(self, totals: Any) -> None:
        assert totals.failed == []
        assert totals.schedules == len(self.seeds)

    def test_every_kind_of_fault_is_injected(self, totals: Any) -> None:
        assert set(totals.faults) <= set(self.kinds)
        assert set(self.kinds) - set(totals.faults) <= set(self.rare)

    def test_schedule_replays_identically(self, own_workers: Workers) -> None:
        name, steps = self.replayed
        trace, *others = self.explorer.replayed(own_workers.pool, name)
        assert others == 3 * [trace]
        assert len(trace) > steps

    def test_explorer_finds_mutant(self, findings: Findings, mutant: str) -> None:
        assert not missed(findings[mutant].result(), self.mutants[mutant])
