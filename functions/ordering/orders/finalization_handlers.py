"""Lambda handler that finalizes an order when its saga, or its recovery, has ended."""

from dataclasses import dataclass
from functools import cache, partial

from idempotency.saga.executions import Executions
from idempotency.saga.finalization import Finalization
from idempotency.saga.state import SagaReader
from ordering.definition import ORDER_SAGA
from runtime import saga
from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import read_environment
from runtime.handler import Call, handler
from runtime.stores import StoreEnvironment, lease_store, saga_tables, step_store

from .table import OrdersTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment(StoreEnvironment):
    """step_tables: the names of all, as JSON. payment_gateway_url: empty if there is no outside gateway."""

    orders_table: str
    step_tables: str
    order_saga_arn: str
    order_recovery_arn: str
    payment_gateway_url: str = ""


@cache
def finalization() -> Finalization:
    environment = read_environment(Environment)
    stepfunctions = partial(client, "stepfunctions")
    return Finalization(
        ORDER_SAGA,
        step_store(environment),
        OrdersTable(environment.orders_table),
        Executions(ORDER_SAGA, stepfunctions, environment.order_saga_arn, environment.order_recovery_arn),
        SagaReader(ORDER_SAGA, dynamodb(), saga_tables(environment.step_tables), environment.idempotency_table),
        environment.lifetime,
        lease_store(environment) if environment.payment_gateway_url else None,
    )


class Ended(saga.Ended, frozen=True, rename="camel"):
    @property
    def order_id(self) -> str:
        return self.name


parse_ended = saga.ended_parser(Ended)


@handler(parse_ended, ids=("order_id",))
def finalize_order(ended: Ended, call: Call) -> None:
    """Finalize the order of an execution that ended, be it the saga's or the recovery's."""
    finalization().finalize_event(ended, call.at)
