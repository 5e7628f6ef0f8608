"""The machine of user imports and its functions."""

import os
import types
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ministack.services import s3, stepfunctions

import idempotency.lease
import idempotency.leases
import runtime.handler
import user_import.connect
from runtime import clients
from tests.faults import redriving
from tests.faults.actors import engine as shared
from tests.faults.actors.engine import functions_of
from tests.faults.actors.wire import Session
from tests.faults.seams import Document
from tests.faults.users.connect import Client
from tests.kit.engines.in_process import replace
from user_import.connect import Backoff

if TYPE_CHECKING:
    from tests.faults.users.run import Run

# Redrives and secrets need histories.
_ADD_EVENT = stepfunctions._add_event


class _Session(Session):
    def create_client(self, service: str, **more: Any) -> Any:
        return Client(service, self.wire, 1) if service == "connect" else super().create_client(service, **more)


class Engine(shared.Engine):
    MACHINE: ClassVar = "UserImport"
    TABLES: ClassVar = ("IdempotencyTable",)
    BUCKET: ClassVar = "UsersBucket"
    VERSIONED: ClassVar = True
    FUNCTIONS: ClassVar = functions_of("user_import")

    def begin(self, run: "Run") -> None:
        super().begin(run)
        os.environ.update(run.variables)

    def hold(self) -> None:
        super().hold()
        replace(idempotency.leases, "datetime", shared.present(self._now))
        replace(stepfunctions, "_add_event", _ADD_EVENT)
        defaults: Any = idempotency.leases.LeaseStore.__init__.__kwdefaults__
        defaults["sleep"] = lambda seconds: self.on.simulation.sleep(max(seconds, 1))
        replace(user_import.connect, "Backoff", self._backoff)
        replace(user_import.connect, "time", types.SimpleNamespace(monotonic=self._now))
        replace(clients, "session", lambda: _Session(self))
        replace(s3, "new_uuid", lambda: self.run.new_token() if self.run else "none")
        for module in (runtime.handler, idempotency.lease):
            replace(module, "_logger", _Logger(self))

    def _now(self) -> float:
        return self.on.simulation.now if self.run else 0

    def _backoff(self, until: float) -> Backoff:
        simulation = self.on.simulation
        return Backoff(until, self._now, simulation.sleep, self.on.chance.random)

    # Actions of others

    def stored(self) -> list[str]:
        return [key for bucket, key in s3._object_versions if bucket == self.bucket]

    def current(self, key: str) -> Document | None:
        found: Document | None = s3._buckets[self.bucket]["objects"].get(key)
        return found

    def put(self, key: str, data: bytes) -> str:
        """Put an object. Returns its version."""
        return str(s3._put_object(self.bucket, key, data, {})[1]["x-amz-version-id"])

    def remove(self, key: str) -> None:
        """Remove an object, with all its versions."""
        s3._buckets[self.bucket]["objects"].pop(key, None)
        s3._object_versions.pop((self.bucket, key), None)

    def start_by_hand(self, name: str, document: str) -> None:
        request = {"stateMachineArn": self.stack.arn(self.MACHINE), "name": name, "input": document}
        stepfunctions._start_execution(request)

    def redrive(self, name: str) -> None:
        arn = self.stack.arn(self.MACHINE).replace(":stateMachine:", ":execution:")
        redriving.redrive({"executionArn": f"{arn}:{name}"})


class _Logger:
    """Keeps every log line, with its fields."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, _: str) -> Any:
        return self._line

    def _line(self, message: str, extra: Mapping[str, Any] | None = None) -> None:
        if self._engine.run:
            self._engine.run.judge.passes("a log line", f"{message} {extra}")
