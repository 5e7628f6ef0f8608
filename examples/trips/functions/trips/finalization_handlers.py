"""Lambda handler that finalizes a trip when its saga, or its recovery, has ended."""

from functools import cache

from idempotency.saga.finalization import Finalization
from runtime import finalization as factory
from runtime.ended import Ended
from runtime.handler import Call, handler
from runtime.saga import ended_parser

from .definition import TRIP_SAGA
from .service import TripsTable

Environment = factory.FinalizationEnvironment


@cache
def finalization() -> Finalization:
    return factory.finalization(TRIP_SAGA, TripsTable, Environment())


@handler(ended_parser(TRIP_SAGA), ids=("trip_id",))
def finalize_trip(ended: Ended, call: Call) -> None:
    """Finalize the trip whose saga or recovery has ended."""
    finalization().finalize_event(ended, call.at)
