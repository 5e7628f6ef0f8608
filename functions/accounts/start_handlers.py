"""Lambda handler that starts the executions of new applications."""

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from runtime.clients import client
from runtime.environment import Variables
from runtime.handler import Call, handler
from runtime.streams import Record, each, images, parse_records

from .definition import SUBMITTED
from .machines import Machine


class Environment(Variables):
    account_opening_arn: str


@cache
def machine() -> Machine:
    return Machine(partial(client, "stepfunctions"), Environment().account_opening_arn)


@handler(parse_records)
def start_applications(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Start the execution of each new application in the batch (stream of ApplicationsTable, new rows)."""
    own = machine()
    return each(records, lambda record: start(record, own))


def start(record: Record, own: Machine) -> None:
    """Start an application, if the record is of its new row."""
    _, image = images(record)
    # A setup that was started by hand leaves a row of no application.
    if record.get("eventName") == "INSERT" and image and image["status"]["S"] == SUBMITTED:
        own.start(image["application_id"]["S"])
