"""The operators' commands on the stack in this process: `recover`, `attention` and `work`."""

from functools import cached_property

import boto3

from ordering.gateway import CHARGE
from ordering.payments import PaymentDeclined
from stepwise.operations import work
from stepwise.operations.recovery import needing_attention, recover
from stepwise.operations.stack import Stack
from tests.faults.seams import Document
from tests.faults.subject import SUBJECT
from tests.kit import deployed_stack
from tests.kit.template import TEMPLATE

_SAGA = SUBJECT.saga
_WHO = {"by": "an operator", "reason": "the explorer says so"}


class Operators:
    """Runs commands and reads their output. They raise CommandError or IdempotencyError."""

    def __init__(self, deployed: deployed_stack.Stack) -> None:
        self._deployed = deployed

    @cached_property
    def stack(self) -> Stack:
        outputs = {name: self._deployed.resolve(output["Value"]) for name, output in TEMPLATE["Outputs"].items()}
        # The session whose requests this process answers.
        return Stack(boto3._get_default_session(), None, outputs)

    def listed(self) -> list[str]:
        """Return the orders that `attention` lists."""
        return [attention.saga_id for attention in needing_attention(self.stack, _SAGA)]

    def audited(self) -> set[str]:
        """Return the orders that `orders audit` lists, of all orders."""
        if SUBJECT.audit is None:
            return set()
        found = SUBJECT.audit(self.stack)
        every = self.stack.rows(_SAGA.first.table)
        ids = [row[_SAGA.first.key] for row in every]
        return {one.order_id for one in (*found.of_orders(ids), *found.of_all())}

    def noted(self) -> set[str]:
        """Return the orders that `attention` lists because of the sweeps' audits."""
        return {one.order_id for one in SUBJECT.audit(self.stack).noted()} if SUBJECT.audit else set()

    def recover(self, order_id: str, document: Document | None = None) -> None:
        """Run `recover`, with a document as from `--file`, or without."""
        recover(self.stack, order_id, document, saga=_SAGA)

    def release(self, order_id: str) -> None:
        """Run `work release`: the next call does the work."""
        record = work.record(self.stack, order_id, CHARGE.name)
        work.operations(self.stack).release(record, **_WHO)

    def resolve(self, order_id: str, charge_id: str | None) -> None:
        """Run `work resolve`, by the gateway's state. charge_id: id of the standing charge, if any."""
        record, operations = work.record(self.stack, order_id, CHARGE.name), work.operations(self.stack)
        if charge_id:
            operations.complete(record, charge_id, **_WHO)
        else:
            operations.fail(record, PaymentDeclined.__name__, "nothing stands at the gateway", **_WHO)
