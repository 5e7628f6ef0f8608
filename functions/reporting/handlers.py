"""Lambda handler of the reports service."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from runtime.context import LambdaContext
from runtime.dynamodb import dynamodb
from runtime.environment import read_environment
from runtime.stores import StoreEnvironment
from runtime.tracing import traced

from .service import Reports
from .table import ReportsTable

# A record may take two DynamoDB calls of about 7 s each before it fails.
_MILLISECONDS_FOR_A_RECORD = 20_000


@dataclass(frozen=True, slots=True)
class Environment(StoreEnvironment):
    reports_table: str


@cache
def reports() -> Reports:
    environment = read_environment(Environment)
    return Reports(dynamodb(), ReportsTable(environment.reports_table, environment.idempotency_table))


def report_orders(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Count the changes of orders in a batch of the Orders stream.

    Returns {"batchItemFailures": [{"itemIdentifier": sequence number}]} for those that could not be counted.
    """
    with traced("report_orders"):
        failures = reports().apply_all(event["Records"], time_left=lambda: _time_left(context))
        return {"batchItemFailures": [{"itemIdentifier": number} for number in failures]}


def _time_left(context: LambdaContext) -> bool:
    return context.get_remaining_time_in_millis() > _MILLISECONDS_FOR_A_RECORD
