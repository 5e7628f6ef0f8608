"""The machines of account opening, the functions of approvals and accounts, and the card processor."""

import io
import json
import os
import types
from dataclasses import dataclass, field
from dataclasses import replace as changed
from datetime import UTC
from typing import TYPE_CHECKING, Any, ClassVar

from ministack.services import s3, stepfunctions

import accounts.bank
import accounts.recovery
import approvals.recovery
import idempotency.leases
import idempotency.saga.sweep
from accounts.handlers import finalization, processed_cards, sweep
from runtime import clients
from runtime.bearer import BearerSession
from runtime.secrets import Secret
from tests.faults.actors import engine as shared
from tests.faults.actors.engine import STEADY, functions_of
from tests.faults.actors.wire import Client, Session
from tests.faults.people.processor import ADDRESS, SECRET, Processor
from tests.faults.seams import Document, Send
from tests.kit.deployed_stack import ACCOUNT, REGION, Stack
from tests.kit.engines.in_process import replace

if TYPE_CHECKING:
    from tests.faults.people.run import Run

# Approvals read histories.
_ADD_EVENT = stepfunctions._add_event
_PROCESSOR = {
    "CardProcessorUrl": ADDRESS,
    "CardProcessorSecretArn": f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:card-processor",
}
_OWN_VARIABLES = {"OUTSIDE_URL", "CARD_PROCESSOR_URL", "CARD_PROCESSOR_SECRET_ARN", "CARD_KEY_ARN"}
# Caches kept between invocations, derived from the variables. Finalization bars cards whose creation has not begun.
_MADE = (processed_cards, finalization, sweep)
_ENDED = {"ABORTED": "ExecutionAborted", "TIMED_OUT": "ExecutionTimedOut"}


class _Lambda(Client):
    """Invokes a function for another one: the HTTP API decides so."""

    def _json(self, _: str, parameters: Document) -> tuple[Send, bytes]:
        engine: Any = self.wire

        def send() -> Any:
            answer = engine.on.invoke_for_api(parameters["FunctionName"].rpartition(":")[2], parameters["Payload"])
            body = io.BytesIO(json.dumps(answer["body"]).encode())
            return 200, {}, {"Payload": body, **({"FunctionError": "Unhandled"} if answer.get("error") else {})}

        return send, b""


class _Session(Session):
    def create_client(self, service: str, **more: Any) -> Client:
        return _Lambda(service, self.wire, 1) if service == "lambda" else super().create_client(service, **more)


@dataclass
class Engine(shared.Engine):
    """The engine of applications. processor: in runs that have one."""

    MACHINE: ClassVar = "AccountOpening"
    SETUP: ClassVar = "AccountSetup"
    RECOVERY: ClassVar = "AccountRecovery"
    TABLES: ClassVar = (
        *("ApplicationsTable", "ApprovalsTable", "CustomersTable", "AccountsTable", "LedgerTable", "CardsTable"),
        *("IdempotencyTable", "ScreeningTable", "SetupsTable"),
    )
    BUCKET: ClassVar = "DocumentsBucket"
    VERSIONED: ClassVar = True
    API: ClassVar = "HandleRequestFunction"
    FUNCTIONS: ClassVar = [*functions_of("approvals"), *functions_of("accounts"), "NotifyApprovalsFunction", API]

    processor: Processor = field(default_factory=Processor)

    def start(self) -> "Engine":
        super().start()
        schemas = {
            table["TableName"].removeprefix(self.stack.prefix): table["KeySchema"] for table in self.stack.tables()
        }
        self.keys = {name: [key["AttributeName"] for key in schema] for name, schema in schemas.items()}
        for machine in (self.SETUP, self.RECOVERY):
            self.create_machine(machine)
        self.plain, self.equipped = self.stack, changed(self.stack, parameters=_PROCESSOR)
        return self

    def begin(self, run: "Run") -> None:
        super().begin(run)
        self.processor.simulator.reset()
        self._use(self.equipped if run.plan.processor else self.plain)

    def _use(self, stack: Stack) -> None:
        """Deploy the functions with or without the processor's address."""
        if stack is not self.stack:
            for name in _variables(self.stack):
                del os.environ[name]
            os.environ.update(_variables(stack))
            for made in _MADE:
                made.cache_clear()
            self.stack = stack

    def hold(self) -> None:
        super().hold()
        replace(clients, "session", lambda: _Session(self))
        replace(s3, "new_uuid", lambda: self.on.new_version() if self.run else "none")
        replace(stepfunctions, "_run_parallel_branches", lambda *given: self.on.branches(*given))
        replace(stepfunctions, "_invoke_nested_start_execution_sync", lambda _, given: self.on.child(given))
        replace(stepfunctions, "_send_task_success", lambda request: self.on.answer_token(request))
        replace(stepfunctions, "_add_event", _ADD_EVENT)
        present = shared.present(lambda: self.on.simulation.now if self.run else 0)
        replace(stepfunctions, "now_iso", lambda: present.now(UTC).isoformat())
        sampling = types.SimpleNamespace(**vars(STEADY), sample=lambda found, _: found)
        for module in (approvals.recovery, accounts.recovery, idempotency.saga.sweep):
            replace(module, "random", sampling)
        replace(accounts.bank, "_bars", lambda application: self.on.bars(application))
        replace(Secret, "read", lambda _: SECRET)
        replace(idempotency.leases, "datetime", present)
        # Defaults of a lease's pauses, and of the minimum time for sending a request.
        defaults: Any = idempotency.leases.LeaseStore.__init__
        defaults.__kwdefaults__["sleep"] = lambda seconds: self.on.simulation.sleep(seconds)
        sending: Any = BearerSession.__init__
        sending.__defaults__ = (*sending.__defaults__[:-1], lambda: self.on.simulation.now)

    def stop(self, execution: Document, status: str) -> None:
        if execution["status"] == "RUNNING":
            stepfunctions._add_event(execution, _ENDED[status])
        super().stop(execution, status)

    def charge_card(self, request: Any) -> Any:
        """Send a request to the card processor."""
        return self.on.process_card(request)


def _variables(stack: Stack) -> dict[str, str]:
    """Return the variables of the processor."""
    found = stack.environment(["IssueCardFunction", "FinalizeAccountFunction"])
    return {name: found[name] for name in _OWN_VARIABLES & found.keys()}
