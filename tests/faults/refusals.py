"""Forbidden effects of a call: changing something and raising a business error, or refunding a confirmed order."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from idempotency import BusinessError, InvalidKey, PayloadMismatch, StateConflict, StepCompensated
from ordering.definition import ORDER_SAGA
from ordering.payments import PaymentDeclined
from tests.faults.invocation import Invocation
from tests.faults.seams import Document, Send
from tests.kit.invariants import FINAL, REFUSED

if TYPE_CHECKING:
    from tests.faults.running import Running

_WRITES = {"dynamodb.TransactWriteItems", "dynamodb.UpdateItem", "dynamodb.PutItem", "dynamodb.DeleteItem"}
# After these errors the step's own record is unchanged. A lease's record may contain a decline.
_OF_THE_LAYER = (InvalidKey, PayloadMismatch, StateConflict, StepCompensated)


class Refusals:
    """Watches the requests of each invocation, and notes violations in `broken` of the run."""

    def __init__(self, run: "Running") -> None:
        self._run = run

    @contextmanager
    def judged(self, invocation: Invocation) -> Iterator[None]:
        """Check the invocation that runs in the block, unless something else ran meanwhile."""
        begun = self._run.begin()
        yield
        if isinstance(invocation.error, BusinessError) and self._run.begun == begun:
            for change in self._changes(invocation, invocation.error):
                name = type(invocation.error).__name__
                self._run.broken.append((REFUSED, f"{invocation.id} ended in {name}, and {change}"))
        if isinstance(invocation.error, PayloadMismatch) and self._is_sealed(invocation):
            self._run.broken.append((FINAL, f"{invocation.id} judged the payload of a confirmed order"))

    def watched(self, invocation: Invocation, service: str, send: Send, body: bytes) -> Send:
        """Send the request, and note its changes on the invocation."""
        operation = invocation.operation
        if service == "gateway":
            return lambda: self._asked(invocation, operation, send)
        if operation not in _WRITES:
            return send

        def sent() -> Any:
            answer = send()
            if answer.status_code == 200:
                invocation.wrote.append(body)
            return answer

        return sent

    def _asked(self, invocation: Invocation, operation: str, send: Send) -> Any:
        gateway = self._run.engine.gateway
        gateway.asking = order_id = invocation.order_id
        if operation == "gateway.cancel" and self._run.status_of(order_id) == "Confirmed":
            self._run.broken.append((FINAL, f"{invocation.id} cancels the charge of a confirmed order"))
        before = gateway.state()
        answer = send()
        after = gateway.state()
        invocation.charged |= before[0] != after[0]
        invocation.moved |= before[1] != after[1]
        return answer

    def _is_sealed(self, invocation: Invocation) -> bool:
        """True if a compensation found a record that says that the order is confirmed."""
        undoes = {step.compensation: step.name for step in ORDER_SAGA.all_steps}
        step = undoes.get(invocation.function.removesuffix("Function"))
        return step is not None and self._run.is_sealed(invocation.order_id, step)

    def _changes(self, invocation: Invocation, error: BusinessError) -> Iterator[str]:
        if invocation.moved:
            yield "money moved at the gateway"
        elif invocation.charged and not isinstance(error, PaymentDeclined):
            yield "the gateway knows another state of the charge"
        for action in (action for body in invocation.wrote for action in _actions(json.loads(body))):
            if self._is_row(action) or (isinstance(error, _OF_THE_LAYER) and _is_step(action)):
                yield f"wrote {action['TableName']}"

    def _is_row(self, action: Document) -> bool:
        return action["TableName"] != self._run.engine.stack.name("IdempotencyTable")


def _actions(request: Document) -> Iterator[Document]:
    """Yield the items that a request writes."""
    if "TransactItems" not in request:
        yield request
    for action in request.get("TransactItems", []):
        yield from (parameters for kind, parameters in action.items() if kind != "ConditionCheck")


def _is_step(action: Document) -> bool:
    key = (action.get("Key") or action["Item"])["pk"]["S"]
    return not str(key).endswith("#ChargeCard")
