"""Lambda handlers of the inventory service."""

from functools import cache

from ordering.definition import ORDER_SAGA, RESERVE_INVENTORY
from ordering.task import Result, Task, saga_task
from runtime.dynamodb import dynamodb
from runtime.stores import StoreEnvironment, saga_steps

from .service import Inventory
from .shards import Shards
from .table import InventoryTable


class Environment(StoreEnvironment):
    inventory_table: str
    orders_table: str


@cache
def inventory() -> Inventory:
    environment = Environment()
    name = environment.inventory_table
    return Inventory(saga_steps(ORDER_SAGA, environment), InventoryTable(name), Shards(dynamodb(), name))


@saga_task(RESERVE_INVENTORY)
def reserve_inventory(task: Task) -> Result:
    """Reserve every line of the order and take its stock."""
    return inventory().reserve(task)


@saga_task(RESERVE_INVENTORY)
def release_inventory(task: Task) -> Result:
    """Undo reserve_inventory: cancel the reservation and give the stock back."""
    return inventory().release(task)
