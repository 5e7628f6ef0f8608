"""The order saga and its functions, each environment with its own view of the shards; and operators."""

import types
from typing import TYPE_CHECKING, Any, ClassVar, Self

import ordering.handlers
import ordering.stock
import runtime.backoff
import stepwise.operations.sharding
import stepwise.operations.stock
from ordering.handlers import inventory
from stepwise.operations.stack import Stack
from tests.faults.actors import engine as shared
from tests.faults.actors.conflicting import Conflicting
from tests.faults.actors.engine import STEADY
from tests.faults.actors.wire import Session
from tests.kit.engines.in_process import replace

if TYPE_CHECKING:
    from tests.faults.stock.run import Run

_STATES = ("ProcessOrder", "ProcessPayment", "ReserveInventory", "ReleaseInventory", "ProcessRefund")


class Engine(shared.Engine):
    """An engine with a contended database. conflicts: the database, in which transactions take a while."""

    conflicts: Conflicting

    MACHINE: ClassVar = "OrderSaga"
    TABLES: ClassVar = ("OrdersTable", "PaymentsTable", "InventoryTable", "IdempotencyTable")
    BUCKET: ClassVar = "JobsBucket"
    FUNCTIONS: ClassVar = [*(f"{state}Function" for state in _STATES), "UpdateOrderStatusFunction"]

    def start(self) -> Self:
        super().start()
        self.conflicts = Conflicting(self.database, lambda: self.on.simulation, between=lambda: self.on.between_rows())
        self.database = self.conflicts
        outputs = {"InventoryTable": self.stack.name("InventoryTable")}
        nobody: Any = None
        self.operators = Stack(nobody, None, outputs)
        caller = types.SimpleNamespace(get_caller_identity=lambda: {"Arn": "arn:aws:iam::000000000000:user/ann"})
        self.operators._clients.update(dynamodb=Session(self).create_client("dynamodb"), sts=caller)
        return self

    def begin(self, run: "Run") -> None:
        super().begin(run)
        run.environments = [inventory.__wrapped__() for _ in range(run.plan.environments)]

    def hold(self) -> None:
        super().hold()
        present = shared.present(lambda: self.on.simulation.now)
        for module in (runtime.backoff, stepwise.operations.stock):
            replace(module, "datetime", present)
        replace(stepwise.operations.sharding, "time", self.waits)
        # An addition that no longer insists on the total is rare with more.
        replace(stepwise.operations.stock, "_ROUNDS", 2)
        replace(stepwise.operations.sharding, "random", STEADY)
        chances = {"randrange": lambda *given: self.on.chance.randrange(*given)}
        chances["choice"] = lambda *given: self.on.chance.choice(*given)
        replace(ordering.stock, "random", types.SimpleNamespace(**chances))
        replace(ordering.handlers, "inventory", lambda: self.on.environment())
