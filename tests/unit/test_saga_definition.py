"""Consequences of a saga's definition."""

from dataclasses import replace
from functools import partial

import pytest

from idempotency.saga import Parallel, Saga, SagaStep

step = partial(SagaStep, table="Table", key="pk", standing=("Booked",))
FLIGHT, HOTEL, CAR = step("BookFlight", "CancelFlight"), step("BookHotel", "CancelHotel"), step("RentCar", "ReturnCar")
INSURANCE, TICKET = step("Insure", "EndInsurance"), step("PrintTicket", "VoidTicket")
TRIP = Saga(
    "trip-saga",
    machine="TripSaga",
    recovery="TripRecovery",
    id_field="trip_id",
    parse=dict,
    steps=(FLIGHT, Parallel(((HOTEL,), (CAR, INSURANCE))), TICKET),
    open="New",
    confirmed="Confirmed",
    failed="Cancelled",
)


def test_steps_come_in_definition_order() -> None:
    assert TRIP.all_steps == (FLIGHT, HOTEL, CAR, INSURANCE, TICKET)


def test_branch_is_compensated_backward_and_a_group_before_its_ancestors() -> None:
    assert TRIP.compensations == ("VoidTicket", "CancelHotel", "EndInsurance", "ReturnCar", "CancelFlight")


@pytest.mark.parametrize("other", [("BookHotel", "Void"), ("Print", "CancelHotel")])
def test_step_name_may_occur_only_once(other: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="twice"):
        replace(TRIP, steps=(FLIGHT, HOTEL, step(*other)))


def test_joining_step_can_be_called_and_confirms_nothing() -> None:
    joining = replace(TRIP, steps=TRIP.steps[:2], joining=(TICKET,))

    assert joining.step("PrintTicket") is TICKET
    assert TICKET not in joining.all_steps
    with pytest.raises(ValueError, match="twice"):
        replace(TRIP, joining=(TICKET,))


def test_group_cannot_hold_the_row_of_the_saga() -> None:
    with pytest.raises(TypeError, match="first step"):
        replace(TRIP, steps=(Parallel(((HOTEL,), (CAR,))),))


@pytest.mark.parametrize("document", [None, [], "t-1", {}, {"trip_id": ""}, {"trip_id": 1}])
def test_input_without_an_id_has_none(document: object) -> None:
    assert TRIP.id_of(document) is None


NESTED = replace(TRIP, id_path=("trip", "id"))


@pytest.mark.parametrize("document", [None, {"trip": "t-1"}, {"trip": {}}, {"trip": {"id": 1}}, {"trip_id": "t-1"}])
def test_nested_input_without_an_id_has_none(document: object) -> None:
    assert NESTED.id_of(document) is None


def test_id_may_be_nested() -> None:
    assert NESTED.id_of({"trip": {"id": "t-1"}}) == "t-1"


def test_pending_row_is_still_open() -> None:
    still_open = replace(TRIP, pending=("Waiting",)).still_open("Trips", "t-1")["ConditionCheck"]

    assert still_open["ConditionExpression"] == "attribute_not_exists(pk) OR #status IN (:status0, :status1)"
    assert [value["S"] for value in still_open["ExpressionAttributeValues"].values()] == ["New", "Waiting"]


def test_step_has_its_direct_predecessors_and_successors() -> None:
    parents = {step.name: [parent.name for parent in TRIP.parents(step)] for step in TRIP.all_steps}

    assert parents == {
        "BookFlight": [],
        "BookHotel": ["BookFlight"],
        "RentCar": ["BookFlight"],
        "Insure": ["RentCar"],
        "PrintTicket": ["BookHotel", "Insure"],
    }
    assert TRIP.children(FLIGHT) == (HOTEL, CAR)
    assert TRIP.children(TICKET) == ()
