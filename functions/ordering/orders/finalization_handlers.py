"""Lambda handler that finalizes an order when its saga, or its recovery, has ended."""

import json
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import Any

from msgspec import Struct

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import read_environment
from runtime.handler import Call, handler
from runtime.stores import StoreEnvironment, lease_store, step_store
from runtime.validation import parser

from .finalization import Finalization
from .sagas import SagaExecution, Sagas
from .state import OrderReader
from .table import OrdersTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment(StoreEnvironment):
    """payment_gateway_url: empty if there is no outside gateway."""

    orders_table: str
    payments_table: str
    inventory_table: str
    order_saga_arn: str
    order_recovery_arn: str
    payment_gateway_url: str = ""


@cache
def finalization() -> Finalization:
    environment = read_environment(Environment)
    tables = {
        "OrdersTable": environment.orders_table,
        "PaymentsTable": environment.payments_table,
        "InventoryTable": environment.inventory_table,
    }
    return Finalization(
        step_store(environment),
        OrdersTable(environment.orders_table),
        Sagas(partial(client, "stepfunctions"), environment.order_saga_arn, environment.order_recovery_arn),
        OrderReader(dynamodb(), tables, environment.idempotency_table),
        environment.lifetime,
        lease_store(environment) if environment.payment_gateway_url else None,
    )


class Ended(Struct, frozen=True, rename="camel"):
    """The `detail` of an event *Step Functions Execution Status Change*. input: as JSON; None if it is left out."""

    name: str
    status: str
    execution_arn: str
    state_machine_arn: str
    input: str | None = None

    @property
    def order_id(self) -> str:
        return self.name


class _Event(Struct):
    detail: Ended


_parse = parser(_Event)


def parse_ended(event: Any) -> Ended:
    """Raises InvalidEvent."""
    return _parse(event).detail


@handler(parse_ended, ids=("order_id",))
def finalize_order(ended: Ended, call: Call) -> None:
    """Finalize the order of an execution that ended, be it the saga's or the recovery's."""
    if ended.state_machine_arn == finalization().sagas.recovery:
        finalization().finalize_recovered(_document(ended), call.at)
    elif not _confirmed_at_once(ended, call.at):
        finalization().finalize(SagaExecution(ended.name, ended.status, _document(ended)), call.at)


def _confirmed_at_once(ended: Ended, now: datetime) -> bool:
    """Without a look at the input: an account may call DescribeExecution some 15 times a second."""
    reading = ended.status == "SUCCEEDED" and not ended.input
    return reading and finalization().confirm_at_once(ended.name, now)


def _document(ended: Ended) -> Any:
    """The rule leaves the input out of the event, as it holds a payment token; the execution has it."""
    return json.loads(ended.input) if ended.input else finalization().sagas.document(ended.execution_arn)
