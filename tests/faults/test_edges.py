"""A sample of the faults at the edges of an order's life, alone and in pairs; `make faults` tries many more."""

import pytest

from tests.faults.edges import KINDS
from tests.faults.explore_edges import EdgeSingles, edge_singles
from tests.faults.scenario import Scenario
from tests.faults.workers import Workers

PART = 700
PAIRS = 600
# Only a recovered order has these.
RARE = {"recovery event lost"}
# Each broke an invariant once.
PINNED = [
    "declined by gateway: denied for good: ProcessRefund; finalization broken for 31 days, deleted: ChargeCard",
    "out of stock: operator runs recover--other-file after the saga;"
    " records deleted: ProcessOrder before ReleaseInventory",
    "declined by gateway: foreign call of ProcessPayment before ProcessOrder;"
    " gateway refuses recovery.ProcessRefund#2.call2",
    "not an order: foreign calls of ReserveInventory before UpdateOrderStatus; event late",
]


@pytest.fixture(scope="module")
def edges(workers: Workers) -> EdgeSingles:
    return edge_singles(workers, [], part=PART)


def test_no_fault_at_the_edges_breaks_an_invariant(edges: EdgeSingles) -> None:
    broken = [f"{result.scenario}: {violation}" for result in edges.results for violation in result.violations]
    assert broken == []


def test_every_fault_at_the_edges_was_injected(edges: EdgeSingles) -> None:
    missed = [str(result.scenario) for result in edges.results if result.injected < len(result.scenario.faults)]
    assert missed == []


def test_every_kind_of_fault_at_the_edges_was_tried(edges: EdgeSingles) -> None:
    tried = {fault.kind for result in edges.results for fault in result.scenario.faults}
    assert KINDS.keys() - tried == RARE


def test_scenario_at_the_edges_survives_a_round_trip_through_text(edges: EdgeSingles) -> None:
    scenarios = [result.scenario for result in edges.results]
    assert [Scenario.parse(str(scenario)) for scenario in scenarios] == scenarios


@pytest.mark.parametrize("text", PINNED)
def test_pairs_that_once_broke_an_invariant_break_none(workers: Workers, text: str) -> None:
    (result,) = workers.play([Scenario.parse(text)])
    assert (result.injected, result.violations) == (2, ())


def test_no_pair_with_a_fault_at_the_edges_breaks_an_invariant(workers: Workers, edges: EdgeSingles) -> None:
    pairs = edges.pairs(PAIRS, seed=1)
    broken = [f"{result.scenario}: {violation}" for result in workers.play(pairs) for violation in result.violations]
    assert broken == []
    inside = {fault.step.partition(".")[0] for pair in pairs for fault in pair.faults if "." in fault.step}
    assert {"second", "stray"} <= inside
