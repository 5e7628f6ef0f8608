"""Lambda handler of reporting: report_orders, called by the stream of OrdersTable."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler

from .change import Record, records_of
from .counting import Reports
from .table import ReportsTable

# A record may take two DynamoDB calls of about 7 s each before it fails.
_MILLISECONDS_FOR_A_RECORD = 20_000


class Environment(Variables):
    reports_table: str
    idempotency_table: str


environment = Environment()


@cache
def reports() -> Reports:
    return Reports(dynamodb(), ReportsTable(environment.reports_table, environment.idempotency_table))


@handler(records_of)
def report_orders(records: Sequence[Record], call: Call) -> dict[str, Any]:
    """Count the changes of orders in a batch of the Orders stream.

    Returns {"batchItemFailures": [{"itemIdentifier": sequence number}]} for those that could not be counted.
    """
    failures = reports().apply_all(records, time_left=lambda: _time_left(call))
    return {"batchItemFailures": [{"itemIdentifier": number} for number in failures]}


def _time_left(call: Call) -> bool:
    return call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_A_RECORD
