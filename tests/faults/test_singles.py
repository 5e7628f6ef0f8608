"""Every single fault, at every place of every order's run."""

from tests.faults.explore import Singles
from tests.faults.faults import KINDS
from tests.faults.scenario import Scenario


def test_no_single_fault_breaks_an_invariant(singles: Singles) -> None:
    broken = [f"{result.scenario}: {violation}" for result in singles.results for violation in result.violations]
    assert broken == []


def test_every_fault_was_injected(singles: Singles) -> None:
    missed = [str(result.scenario) for result in singles.results if result.injected < len(result.scenario.faults)]
    assert missed == []


def test_every_kind_of_fault_was_tried(singles: Singles) -> None:
    tried = {fault.kind for result in singles.results for fault in result.scenario.faults}
    assert tried == set(KINDS)


def test_every_compensation_and_the_recovery_were_reached(singles: Singles) -> None:
    places = {fault.step for result in singles.results for fault in result.candidates}
    states = {"ReleaseInventory", "ProcessRefund", "UpdateOrderStatus"}
    assert {"FinalizeOrder", "SweepOrders", *states, *(f"recovery.{state}" for state in states)} <= places


def test_scenario_survives_a_round_trip_through_text(singles: Singles) -> None:
    scenarios = [result.scenario for result in singles.results]
    assert [Scenario.parse(str(scenario)) for scenario in scenarios] == scenarios
