"""The task types of this application; docs/tasks.md shows how to add one.

checksum-object: size and SHA-256 of an object, by the function RunJob of jobs.
rebuild-read-model: every target of a key shows its newest finished version.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from msgspec import Meta, Struct

from entities.command import Key, Pk, Sk
from entities.rebuild import Rebuild
from entities.registered import TYPES as ENTITY_TYPES
from entities.registered import targets
from entities.tables import States, Tables
from entities.targets import Clients
from runtime.transient import transient_as

from .errors import JobFailed, JobUnfinished, NothingPublished
from .types import HandlerEnvironment, Run, Scope, TaskType, TaskTypes

# A call of RunJob may take the client's 30 s, and the item's row is written after it.
_RESERVE = timedelta(seconds=35)
_PAUSE = 2
_FINAL = frozenset({"InvalidJob", "ObjectNotReadable"})
_TRANSIENT = frozenset({"ServiceException", "TooManyRequestsException"})
_DOTS = frozenset({".", ".."})


class ObjectItem(Struct, frozen=True, forbid_unknown_fields=True):
    """Item of checksum-object. bucket: JobsBucket."""

    bucket: Annotated[str, Meta(min_length=1, max_length=63)]
    key: Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]{1,1024}\Z")]


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class ChecksumObject:
    """Handler of checksum-object. client: a `boto3.client("lambda")`. function: the ARN of RunJob.

    RunJob does each job once: a repeated call finds its result, and a concurrent one gets null.
    """

    client: Any
    function: str
    clock: Callable[[], datetime] = _now
    sleep: Callable[[float], None] = time.sleep

    def __call__(self, item: ObjectItem, run: Run) -> dict[str, Any]:
        """Read the object. Returns {"sha256", "size"}. Raises JobFailed, JobUnfinished."""
        job = {"JobId": run.key, "ObjKey": f"{item.bucket}/{item.key}"}
        while (found := self._called(job)) is None:
            if self.clock() + _RESERVE > run.deadline:
                raise JobUnfinished("the object is being read")
            self.sleep(_PAUSE)
        return {"sha256": found["sha256"], "size": found["size"]}

    def _called(self, job: dict[str, str]) -> Any:
        with transient_as(JobUnfinished, "Lambda", _TRANSIENT):
            answer = self.client.invoke(FunctionName=self.function, Payload=json.dumps(job))
            body = json.loads(answer["Payload"].read())
        if "FunctionError" not in answer:
            return body
        kind = body.get("errorType", "Lambda.Unknown")
        if kind in _FINAL:
            raise JobFailed(f"{kind}: {body.get('errorMessage', '')}")
        raise JobUnfinished(f"RunJob: {kind}")


def _bucket_problem(item: ObjectItem, scope: Scope) -> str:
    return "" if item.bucket == scope.jobs_bucket else "bucket: must be JobsBucket"


def _foreign(item: ObjectItem, tenant_code: str) -> str:
    # Tenants share the bucket. Some clients of S3 resolve `..` in a path.
    if item.key.startswith(f"{tenant_code}/") and _DOTS.isdisjoint(item.key.split("/")):
        return ""
    return f"key: must start with {tenant_code}/, without . or .. between slashes"


def _checksum(environment: HandlerEnvironment, clients: Clients) -> ChecksumObject:
    return ChecksumObject(clients("lambda"), environment.run_job_function)


CHECKSUM_OBJECT = TaskType("checksum-object", ObjectItem, _checksum, problem=_bucket_problem, foreign=_foreign)


class KeyItem(Struct, frozen=True, forbid_unknown_fields=True):
    """The key of an entity of the task's tenant."""

    pk: Pk
    sk: Sk


@dataclass(frozen=True, slots=True)
class RebuildReadModel:
    """Handler of rebuild-read-model. It may be repeated at any time: a target never goes back."""

    environment: HandlerEnvironment
    clients: Clients

    def __call__(self, item: KeyItem, _run: Run) -> dict[str, Any]:
        """Rebuild all targets. Returns {"targets": {name: version}}. Raises as `Rebuild`, and NothingPublished."""
        own = self.environment
        client, tables = self.clients("dynamodb"), Tables("", own.gates_table, own.data_table)
        key = Key(item.pk, item.sk)
        gate = States(client, tables).gate(key)
        if gate is None:
            raise NothingPublished(f"{item.sk}: nothing was published for this key")
        made, rebuild = targets(own, self.clients), Rebuild(client, tables)
        at, names = datetime.now(UTC), ENTITY_TYPES.of(gate.type).targets
        return {"targets": {name: rebuild.run(key, name, made[name], at) for name in names}}


def _key_problem(item: KeyItem, scope: Scope) -> str:
    return "" if item.pk == f"TENANT#{scope.tenant_code}" else "pk: must be TENANT# and the tenant_code"


REBUILD_READ_MODEL = TaskType("rebuild-read-model", KeyItem, RebuildReadModel, problem=_key_problem)
TYPES = TaskTypes([CHECKSUM_OBJECT, REBUILD_READ_MODEL])
