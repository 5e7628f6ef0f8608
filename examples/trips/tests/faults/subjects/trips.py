"""The trip saga."""

from dataclasses import dataclass

from tests.faults.subjects import REVERSED, STOPPED, Document, Kind, Subject
from trips.definition import TRIP_SAGA
from trips.handlers import booking, finalization, sweep


@dataclass(frozen=True, slots=True, kw_only=True)
class TripKind(Kind):
    nights: int = 3
    days: int = 3

    def document(self, saga_id: str) -> Document:
        return {
            "trip_id": saga_id,
            "traveler_id": "c-7",
            "flight": "NH-6",
            "hotel": "h-1",
            "nights": self.nights,
            "car": "compact",
            "days": self.days,
        }


TRIPS = {
    "ok": TripKind(),
    "no hotel": TripKind(nights=31),
    "no hotel, car first": TripKind(nights=31, branches=REVERSED),
    "no hotel, car never called": TripKind(nights=31, branches=STOPPED),
    # Refused by every function.
    "not a trip": TripKind(nights=0),
}

SUBJECT = Subject(
    TRIP_SAGA,
    TRIPS,
    finalizer="FinalizeTripFunction",
    sweeper="SweepTripsFunction",
    accepts=lambda document: document["nights"] > 0,
    notice="sns:NotifyTripBooked",
    topic="TripEventsTopic",
    caches=(booking, finalization, sweep),
)
