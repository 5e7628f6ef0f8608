"""Lambda handlers of the orders service."""

from functools import cache

from ordering.definition import ORDER_SAGA, PROCESS_ORDER
from ordering.task import Result, Task, saga_task
from runtime.stores import StoreEnvironment, saga_steps

from .service import Orders
from .table import OrdersTable


class Environment(StoreEnvironment):
    orders_table: str


@cache
def orders() -> Orders:
    environment = Environment()
    return Orders(saga_steps(ORDER_SAGA, environment), OrdersTable(environment.orders_table))


@saga_task(PROCESS_ORDER)
def process_order(task: Task) -> Result:
    """Save the order with status New."""
    return orders().process(task)


@saga_task(PROCESS_ORDER)
def update_order_status(task: Task) -> Result:
    """Undo process_order: set the order's status to Pending."""
    return orders().update_status(task)
