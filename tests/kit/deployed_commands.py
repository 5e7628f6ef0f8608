"""Commands on a deployed stack: one key, published, observed and disturbed from outside."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from stepwise.operations.stack import Row, Stack
from tests.kit.injection import eventually

type Document = dict[str, Any]


class Refused(Exception):
    """Raised when a function refuses a call. error: class name of its error."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(f"{error}: {message}")
        self.error = error


def product(tenant: str, code: str, version: int = 1, **changes: Any) -> Document:
    """A command of type PRODUCT."""
    command = {
        "pk": f"TENANT#{tenant}",
        "sk": f"PRODUCT#{code}",
        "id": code,
        "code": code,
        "name": code,
        "type": "PRODUCT",
        "tenant_code": tenant,
        "version": version,
        "attributes": {"category": "tea", "price": 1500, "currency": "JPY"},
    }
    return {**command, **changes}


@dataclass(frozen=True)
class Versions:
    """The versions of one key. kind: the type; its sk is KIND#name."""

    stack: Stack
    tenant: str
    name: str
    kind: str = "ORDER"

    @property
    def pk(self) -> str:
        return f"TENANT#{self.tenant}"

    @property
    def sk(self) -> str:
        return f"{self.kind}#{self.name}"

    def command(self, version: int | None, **fields: Any) -> Document:
        """A valid command. Without a version, fields must have a request_id."""
        command = {
            "pk": self.pk,
            "sk": self.sk,
            "id": self.name,
            "code": self.name,
            "name": f"Name of {self.name}",
            "type": self.kind,
            "tenant_code": self.tenant,
            "attributes": {"status": "confirmed", "number": version},
        }
        return {**command, **({} if version is None else {"version": version}), **fields}

    def publish(self, version: int | None, **fields: Any) -> Document:
        """Publish a command. Returns PublishCommand's response. Raises Refused."""
        return call(self.stack, "PublishCommand", self.command(version, **fields))

    def decide(self, function: str, reason: str = "ticket 42") -> Document:
        """Let an operator retry or skip. Raises Refused."""
        return call(self.stack, function, {"pk": self.pk, "sk": self.sk, "reason": reason, "by": "operator"})

    @property
    def gate(self) -> Row:
        found = self.stack.row("GatesTable", pk=self.pk, sk=self.sk)
        assert found is not None
        return found

    @property
    def data(self) -> Row:
        found = self.stack.row("DataTable", pk=self.pk, sk=self.sk)
        assert found is not None
        return found

    def row(self, version: int) -> Row:
        found = self.stack.row("CommandsTable", pk=self.pk, sk=f"{self.sk}@{version}")
        assert found is not None
        return found

    @property
    def history(self) -> list[int]:
        """The replaced versions."""
        rows = [row for row in self.stack.rows("HistoryTable") if row["sk"].startswith(f"{self.sk}@")]
        assert all(row["sk"] == f"{self.sk}@{row['version']}" for row in rows)
        return sorted(int(row["version"]) for row in rows)

    @property
    def finished(self) -> int:
        return int(self.gate["finished"])

    @property
    def dead(self) -> set[int]:
        return set(map(int, self.gate.get("dead", ())))

    @property
    def blocked(self) -> bool:
        return self.finished + 1 in self.dead

    def execution(self, version: int, attempt: int = 1) -> str:
        """The name of an attempt's execution."""
        digest = hashlib.sha256(f"{self.pk}\n{self.sk}".encode()).hexdigest()
        return f"{digest[:40]}-{version}-{attempt}"

    def arn(self, version: int, attempt: int = 1) -> str:
        machine = self.stack.outputs["CommandArn"].replace(":stateMachine:", ":execution:")
        return f"{machine}:{self.execution(version, attempt)}"

    def start(self, version: int, *, name: str = "") -> str:
        """Start an execution of a version by hand. name: replaces the version's own name."""
        return self.stack.stepfunctions.start_execution(
            stateMachineArn=self.stack.outputs["CommandArn"],
            name=name or self.execution(version),
            input=json.dumps({"pk": self.pk, "sk": self.sk, "version": version, "attempt": 1}),
        )["executionArn"]

    def stop(self, version: int, attempt: int = 1) -> None:
        self.stack.stepfunctions.stop_execution(executionArn=self.arn(version, attempt))

    def ended(self, version: int, attempt: int = 1) -> Mapping[str, Any]:
        """Wait for an attempt's execution to end. Returns its description."""
        return ended(self.stack, self.arn(version, attempt))

    def reaches(self, version: int, seconds: float = 30) -> None:
        """Wait until a version has finished or was skipped. Raises TimeoutError."""
        eventually(lambda: self.finished >= version, seconds=seconds)

    def waits(self, version: int) -> None:
        """Wait until a version is parked. Raises TimeoutError."""
        eventually(lambda: bool(self.row(version).get("tokens")), seconds=300)


def ended(stack: Stack, arn: str, seconds: float = 60) -> Mapping[str, Any]:
    """Wait for an execution to end. Returns its description. Raises TimeoutError."""
    describe = partial(stack.stepfunctions.describe_execution, executionArn=arn)
    eventually(lambda: describe()["status"] != "RUNNING", seconds=seconds)
    return describe()


def call(stack: Stack, function: str, event: Any) -> Any:
    """Call a function. Returns its result. Raises Refused."""
    client, name = stack.client("lambda"), stack.outputs[f"{function}FunctionArn"]
    try:
        answer = client.invoke(FunctionName=name, Payload=json.dumps(event))
    except client.exceptions.TooManyRequestsException as error:
        raise Refused("TooManyRequestsException", str(error)) from None
    body = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        raise Refused(body["errorType"], body["errorMessage"])
    return body
