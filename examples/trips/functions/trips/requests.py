"""The saga's input. An invalid one is rejected here, before anything is written."""

from typing import Annotated

import msgspec

from idempotency import BusinessError
from runtime.validation import parser

type Id = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,80}\Z")]
type Count = Annotated[int, msgspec.Meta(ge=1, le=365)]


class InvalidTrip(BusinessError):
    """The input is not a trip. The message starts with the path of the field and never repeats a value."""


class Trip(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A trip. nights: in the hotel. days: with the car."""

    trip_id: Id
    traveler_id: Id
    flight: Id
    hotel: Id
    nights: Count
    car: Id
    days: Count


parse_trip = parser(Trip, InvalidTrip, "the trip")
