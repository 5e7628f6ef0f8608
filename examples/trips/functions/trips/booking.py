"""The three steps of a trip, and their compensations."""

from dataclasses import dataclass
from typing import ClassVar

from idempotency import BusinessError
from idempotency.saga import Saga, SagaSteps
from idempotency.saga.table import SagaTable
from runtime.saga import Result, Task

from .definition import BOOKED, TRIP_SAGA
from .requests import Trip

MAX_NIGHTS = 30
MAX_DAYS = 60


class NotAvailable(BusinessError):
    """The hotel or the car is not available for that long. The message starts with the path of the field."""


@dataclass(frozen=True, slots=True)
class TripsTable(SagaTable):
    saga: ClassVar[Saga] = TRIP_SAGA


@dataclass(frozen=True, slots=True)
class Booking:
    steps: SagaSteps
    trips: TripsTable

    def book_flight(self, task: Task[Trip]) -> Result:
        """Book the flight. Raises StateConflict if it is booked already, without a step record."""
        return self.steps.commit(task.step, [self.trips.save(task.request, task.step.at)], {"status": BOOKED})

    def cancel_flight(self, task: Task[Trip]) -> Result:
        """Cancel the flight, or make sure that no late call books it."""
        return self.steps.compensate(task.step, [self.trips.fail(task.step.saga_id, task.step.at)])

    def book_hotel(self, task: Task[Trip]) -> Result:
        """Book the hotel. Raises NotAvailable."""
        if task.request.nights > MAX_NIGHTS:
            raise NotAvailable(f"nights: the hotel takes at most {MAX_NIGHTS}")
        return self._book(task)

    def rent_car(self, task: Task[Trip]) -> Result:
        """Rent the car. Raises NotAvailable."""
        if task.request.days > MAX_DAYS:
            raise NotAvailable(f"days: the car is available for at most {MAX_DAYS}")
        return self._book(task)

    def cancel(self, task: Task[Trip]) -> Result:
        """Cancel a booking of hotel or car, or make sure that no late call books it."""
        booking = self.steps.undo(task.step, cancelled_at=task.step.at.isoformat())
        return self.steps.compensate(task.step, [booking])

    def _book(self, task: Task[Trip]) -> Result:
        booking = self.steps.insert(task.step, task.request, booked_at=task.step.at.isoformat())
        return self.steps.commit(task.step, [booking], {"status": BOOKED})
