"""The trip saga as data."""

from idempotency.saga import Parallel, Saga, SagaStep

from .requests import parse_trip

BOOKED = "Booked"
CONFIRMED = "Confirmed"
CANCELLED = "Cancelled"

BOOK_FLIGHT = SagaStep(
    "BookFlight",
    "CancelFlight",
    table="TripsTable",
    key="trip_id",
    standing=(BOOKED, CONFIRMED),
    facts=lambda trip: {"traveler_id": trip.traveler_id, "flight": trip.flight},
)
BOOK_HOTEL = SagaStep(
    "BookHotel",
    "CancelHotel",
    table="BookingsTable",
    key="pk",
    prefix="HOTEL#",
    standing=(BOOKED,),
    facts=lambda trip: {"hotel": trip.hotel, "nights": trip.nights},
    undone=CANCELLED,
)
RENT_CAR = SagaStep(
    "RentCar",
    "ReturnCar",
    table="BookingsTable",
    key="pk",
    prefix="CAR#",
    standing=(BOOKED,),
    facts=lambda trip: {"car": trip.car, "days": trip.days},
    undone=CANCELLED,
)
TRIP_SAGA = Saga(
    "trip-saga",
    machine="TripSaga",
    recovery="TripRecovery",
    id_field="trip_id",
    parse=parse_trip,
    steps=(BOOK_FLIGHT, Parallel(((BOOK_HOTEL,), (RENT_CAR,)))),
    open=BOOKED,
    confirmed=CONFIRMED,
    failed=CANCELLED,
)
