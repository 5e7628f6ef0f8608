"""Lambda handlers of trips: steps, compensations, finalization and the sweep."""

from functools import cache
from typing import TYPE_CHECKING

from runtime.ended import Ended
from runtime.finalization import FinalizationEnvironment, has_time
from runtime.handler import Call, handler, unread
from runtime.saga import Result, Task, ended_parser, tasks
from runtime.stores import saga_steps

from .definition import BOOK_FLIGHT, BOOK_HOTEL, RENT_CAR, TRIP_SAGA
from .requests import Trip

# Each function needs only one of these.
if TYPE_CHECKING:
    from idempotency.saga.finalization import Finalization
    from idempotency.saga.sweep import Sweep

    from .booking import Booking


class Environment(FinalizationEnvironment):
    trips_table: str
    bookings_table: str


environment = Environment()
trip_task = tasks(TRIP_SAGA)


@cache
def booking() -> "Booking":
    from .booking import Booking, TripsTable

    return Booking(saga_steps(TRIP_SAGA, environment), TripsTable(environment.trips_table))


@cache
def finalization() -> "Finalization":
    from runtime.finalization import finalization

    from .booking import TripsTable

    return finalization(TRIP_SAGA, TripsTable, environment)


@cache
def sweep() -> "Sweep":
    from runtime.finalization import sweep

    return sweep(finalization(), environment)


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


@handler(ended_parser(TRIP_SAGA), ids=("trip_id",))
def finalize_trip(ended: Ended, call: Call) -> None:
    """Finalize the trip whose saga or recovery has ended."""
    finalization().finalize_event(ended, call.at)


@handler(unread)
def sweep_trips(_: None, call: Call) -> dict[str, int]:
    """Finalize the trips whose event was lost, and count those that are not completely undone."""
    return sweep().run(call.at, lambda: has_time(call))
