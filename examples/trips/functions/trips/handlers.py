"""Lambda handlers of the trip's steps and compensations."""

from functools import cache

from runtime.saga import Result, Task, tasks
from runtime.stores import StoreEnvironment, saga_steps

from .definition import BOOK_FLIGHT, BOOK_HOTEL, RENT_CAR, TRIP_SAGA
from .service import Booking, TripsTable
from .trip import Trip

trip_task = tasks(TRIP_SAGA)


class Environment(StoreEnvironment):
    trips_table: str
    bookings_table: str


@cache
def booking() -> Booking:
    environment = Environment()
    return Booking(saga_steps(TRIP_SAGA, environment), TripsTable(environment.trips_table))


@trip_task(BOOK_FLIGHT)
def book_flight(task: Task[Trip]) -> Result:
    """Book the flight."""
    return booking().book_flight(task)


@trip_task(BOOK_FLIGHT)
def cancel_flight(task: Task[Trip]) -> Result:
    """Undo book_flight."""
    return booking().cancel_flight(task)


@trip_task(BOOK_HOTEL)
def book_hotel(task: Task[Trip]) -> Result:
    """Book the hotel."""
    return booking().book_hotel(task)


@trip_task(BOOK_HOTEL)
def cancel_hotel(task: Task[Trip]) -> Result:
    """Undo book_hotel."""
    return booking().cancel(task)


@trip_task(RENT_CAR)
def rent_car(task: Task[Trip]) -> Result:
    """Rent the car."""
    return booking().rent_car(task)


@trip_task(RENT_CAR)
def return_car(task: Task[Trip]) -> Result:
    """Undo rent_car."""
    return booking().cancel(task)
