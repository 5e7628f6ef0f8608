"""The shape of a saga function: the order, the step, and one call of the domain."""

from runtime import saga
from runtime.saga import Result as Result

from .definition import ORDER_SAGA
from .order import Order

Task = saga.Task[Order]
saga_task = saga.tasks(ORDER_SAGA)
