"""Lambda handlers of the payments service."""

from dataclasses import dataclass
from functools import cache

from runtime.environment import read
from saga.task import Result, StepEnvironment, Task, saga_task, step_store

from .service import Payments
from .table import PaymentsTable


@dataclass(frozen=True, slots=True)
class Environment(StepEnvironment):
    payments_table: str


@cache
def payments() -> Payments:
    environment = read(Environment)
    return Payments(step_store(environment), PaymentsTable(environment.payments_table))


@saga_task(step="ProcessPayment")
def process_payment(task: Task) -> Result:
    """Capture the order's total."""
    return payments().process(task)


@saga_task(step="ProcessPayment")
def process_refund(task: Task) -> Result:
    """Undo process_payment: refund what was captured."""
    return payments().refund(task)
