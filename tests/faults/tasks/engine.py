"""The machine of tasks and its functions."""

import types
from typing import TYPE_CHECKING, Any, ClassVar

import idempotency.leases
import runtime.sweep
import tasks.creation
import tasks.finalizing
import tasks.handlers
import tasks.running
import tasks.table
from tasks.registered import TYPES
from tests.faults.actors import engine as shared
from tests.faults.actors.engine import STEADY, functions_of
from tests.faults.tasks import work
from tests.kit.engines.in_process import replace

if TYPE_CHECKING:
    from tests.faults.tasks.run import Run

# Items per transaction of a creation, so that a few items take several transactions.
_AT_ONCE = 2


class Engine(shared.Engine):
    MACHINE: ClassVar = "Task"
    TABLES: ClassVar = ("TasksTable", "IdempotencyTable")
    BUCKET: ClassVar = "JobsBucket"
    FUNCTIONS: ClassVar = [*functions_of("tasks"), "NotifyTasksFunction"]

    def start(self) -> "Engine":
        super().start()
        TYPES._types.update({one.name: one for one in work.types(self)})
        return self

    def begin(self, run: "Run") -> None:
        super().begin(run)
        object.__setattr__(tasks.handlers.starting(), "max_concurrency", run.plan.limit)

    def hold(self) -> None:
        super().hold()
        present = shared.present(lambda: self.on.simulation.now)
        for module in (idempotency.leases, tasks.finalizing, tasks.running):
            replace(module, "datetime", present)
        defaults: Any = idempotency.leases.LeaseStore.__init__.__kwdefaults__
        defaults["sleep"] = lambda seconds: self.on.simulation.sleep(max(seconds, 2))
        replace(tasks.table, "AT_ONCE", _AT_ONCE)
        replace(tasks.creation, "uuid", types.SimpleNamespace(uuid4=lambda: self.on.new_id()))
        replace(tasks.finalizing, "time", self.long_waits)
        # In fewer steps, because each step is two calls.
        replace(tasks.finalizing, "_PAUSE", 10)
        replace(runtime.sweep, "random", STEADY)
