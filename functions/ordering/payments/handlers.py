"""Lambda handlers of the payments service."""

from functools import cache

from ordering.definition import ORDER_SAGA, PROCESS_PAYMENT
from ordering.task import Result, Task, saga_task
from runtime.stores import StoreEnvironment, lease_store, saga_steps

from .charge import PaymentGateway
from .service import Payments
from .table import PaymentsTable


class Environment(StoreEnvironment):
    """Environment. payment_gateway_url: empty without a gateway; then the ARNs of the secrets are empty, too."""

    payments_table: str
    orders_table: str
    payment_gateway_url: str = ""
    payment_gateway_secret_arn: str = ""
    payment_key_arn: str = ""


@cache
def payments() -> Payments:
    environment = Environment()
    table = PaymentsTable(environment.payments_table)
    return Payments(saga_steps(ORDER_SAGA, environment), table, _gateway(environment))


def _gateway(environment: Environment) -> PaymentGateway | None:
    if not environment.payment_gateway_url:
        return None
    from runtime.bearer import BearerSession
    from runtime.secrets import Secret

    from .gateway import HttpGateway

    return HttpGateway(
        environment.payment_gateway_url.rstrip("/"),
        lease_store(environment),
        BearerSession(Secret(environment.payment_gateway_secret_arn)),
        Secret(environment.payment_key_arn),
    )


@saga_task(PROCESS_PAYMENT)
def process_payment(task: Task) -> Result:
    """Capture the order's total."""
    return payments().process(task)


@saga_task(PROCESS_PAYMENT)
def process_refund(task: Task) -> Result:
    """Undo process_payment: refund the captured amount."""
    return payments().refund(task)
