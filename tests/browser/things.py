"""The data on the pages, created on the tests' stack: orders, keys, imports, tasks, applications, leases, messages."""

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from accounts.definition import ACCOUNT_SETUP
from entities.command import Key
from entities.lagging import Lagging
from idempotency import LeaseStore
from idempotency.saga import Saga
from imports.state import BATCH_ROWS, COUNTERS, BatchRecord, Import, ImportKey, Outcome
from imports.table import ImportsTable
from jobs.running import RUN_JOB
from ordering.definition import ORDER_SAGA
from stepwise import STACK_NAME
from stepwise.operations import applications, approvals, commands, imports, orders, recovery, stock, tasks
from stepwise.operations.executions import execution_arn, find
from stepwise.operations.queues import listed
from stepwise.operations.stack import Stack
from tasks.state import TaskKey
from tests.kit.deployed_commands import product
from tests.kit.injection import Resources, denied, eventually, through_proxy
from tests.kit.openings import PDF, application

HOSTILE = "<img src=x onerror=\"document.title='attacked'\"><script>document.title='attacked'</script>"
"""A payload that runs a script wherever it becomes part of a page."""
HEADER = "code,name,category,price,currency\n"


def new(prefix: str) -> str:
    """An id that no other test has."""
    return f"{prefix}-{uuid.uuid4().hex[:8]}"


@dataclass(frozen=True)
class Things:
    stack: Stack
    resources: Resources

    def sku(self, pieces: int = 10) -> str:
        """The test's own SKU."""
        made = new("sku")
        stock.seed(self.stack, {made: pieces})
        return made

    def order(self, quantity: int = 2, **changes: Any) -> dict[str, Any]:
        """An order of its own SKU, with 10 pieces in stock."""
        return {
            "order_id": new("order"),
            "customer_id": "c-1",
            "currency": "JPY",
            "items": [{"sku": self.sku(), "quantity": quantity, "unit_price": 1500}],
            "payment": {"method": "card", "token": "tok_visa"},
            **changes,
        }

    def placed(self, order: dict[str, Any] | None = None) -> str:
        """Place an order, and wait for its saga to end. Returns its id."""
        document = order or self.order()
        orders.place(self.stack, document)
        orders.ended(self.stack, document["order_id"], seconds=120)
        orders.finalized(self.stack, document["order_id"], seconds=120)
        return str(document["order_id"])

    def refused_order(self, **fields: Any) -> str:
        """Start an invalid order by hand. Returns its id, once its saga has failed."""
        document = self.order(**fields)
        arn, name = self.stack.outputs["OrderSagaArn"], document["order_id"]
        self.stack.stepfunctions.start_execution(stateMachineArn=arn, name=name, input=json.dumps(document))
        orders.ended(self.stack, name, seconds=120)
        return str(name)

    def order_not_undone(self) -> str:
        """Create an order with a payment in effect: its saga failed, and its recovery was stopped."""
        document = self.order(quantity=11)
        own = str(document["order_id"])
        with denied(self.stack, self.resources, "ProcessRefund"):
            orders.place(self.stack, document)
            self._recovery_stopped(own, ORDER_SAGA, "ProcessRefund")
        return own

    def application_not_undone(self) -> str:
        """Create an application with part of its setup in effect: it failed, and so did its recovery."""
        stack, resources = self.stack, self.resources
        with denied(stack, resources, "ActivateCard"), denied(stack, resources, "ReverseOpeningBonus"):
            own = self.submitted("Mary Somerville")
            eventually(lambda: (found := find(stack, ACCOUNT_SETUP.recovery, own)) is not None and bool(found.ended))
            self._needs_attention(own, ACCOUNT_SETUP)
        return own

    def _recovery_stopped(self, own: str, saga: Saga, state: str) -> None:
        """Stop a recovery once it repeats a state, so that a person must start another one."""

        def repeats() -> bool:
            found = find(self.stack, saga.recovery, own)
            return any(one.name == state and len(one.errors) > 1 for one in found.states) if found else False

        eventually(repeats)
        arn = execution_arn(self.stack, own, output=f"{saga.recovery}Arn")
        self.stack.stepfunctions.stop_execution(executionArn=arn)
        self._needs_attention(own, saga)

    def _needs_attention(self, own: str, saga: Saga) -> None:
        eventually(lambda: own in [one.saga_id for one in recovery.needing_attention(self.stack, saga)])

    def key(self) -> Key:
        """A key with one version that has finished."""
        tenant, code = new("tenant"), new("p")
        commands.publish(self.stack, product(tenant, code, mode="sync"))
        return Key(f"TENANT#{tenant}", f"PRODUCT#{code}")

    def blocked_key(self) -> Key:
        """A key whose first version is dead, and for which another one waits."""
        tenant, code = new("tenant"), new("p")
        key = Key(f"TENANT#{tenant}", f"PRODUCT#{code}")
        with denied(self.stack, self.resources, "SyncData"):
            for version in (1, 2):
                commands.publish(self.stack, product(tenant, code, version))
            eventually(lambda: commands.view(self.stack, key).gate.blocked)
        return key

    def lagging_key(self) -> Key:
        """A key for which the catalog lags behind."""
        key = self.key()
        Lagging(self.stack.dynamodb, commands.tables(self.stack).gates).mark(key, "catalog", datetime.now(UTC))
        return key

    def imported(self, folder: Path, *prices: object, name: str = "rows.csv", **fields: Any) -> ImportKey:
        """A finished import. An invalid price fails its row."""
        file = folder / name
        rows = "".join(f"p{number},n,tea,{price},JPY\n" for number, price in enumerate(prices, start=1))
        file.write_text(HEADER + rows)
        request = {"tenant_code": new("tenant"), "type": "PRODUCT", "key": imports.upload(self.stack, file), **fields}
        key = imports.create(self.stack, request)
        *_, last = imports.follow(self.stack, key)
        assert last.made.status.final
        return key

    def large_import(self, like: ImportKey, rows: int) -> ImportKey:
        """An import of this many rows, with a record of each batch; every hundredth row failed."""
        table = ImportsTable(self.stack.dynamodb, self.stack.outputs["ImportsTable"])
        key = ImportKey(like.tenant_code, uuid.uuid4().hex)
        failed = len(range(100, rows + 1, 100))
        counts = dict.fromkeys(COUNTERS, 0) | {"processed_rows": rows, "failed_rows": failed}
        counts |= {"succeeded_rows": rows - failed, "created_rows": rows - failed}
        values = {**table.known(like).values, **key.row, "import_id": key.import_id, "first_import_id": key.import_id}
        reason = {"code": "NotANumber", "column": "price", "message": "The cell is not a whole number.", "rows": failed}
        values |= {**counts, "total_rows": rows, "last_row": rows, "unprocessed_rows": 0, "reasons": [reason]}
        table.create(Import(key, values))
        for first in range(1, rows + 1, BATCH_ROWS):
            outcomes = [_outcome(row) for row in range(first, min(first + BATCH_ROWS, rows + 1))]
            table.record(key, BatchRecord(first, len(outcomes), outcomes), datetime.now(UTC))
        return key

    def task(self, *codes: str) -> TaskKey:
        """A task that has ended, with an item for each product; the products that do not exist fail."""
        tenant = new("tenant")
        commands.publish(self.stack, product(tenant, "here", mode="sync"))
        items = [{"pk": f"TENANT#{tenant}", "sk": f"PRODUCT#{code}"} for code in codes]
        request = {"task_type": "rebuild-read-model", "tenant_code": tenant, "items": items}
        key = tasks.create(self.stack, request)
        *_, last = tasks.follow(self.stack, key)
        assert last.task.status.final
        return key

    def application_in_review(self, name: str = "Grace Hopper") -> str:
        """An application without a document, which waits for its review."""
        own = new("a")
        applications.submit(self.stack, application(own, name=name, address={"line1": f"{own} Elm Street"}))
        eventually(lambda: self.review(own) in [one.id for one in approvals.waiting(self.stack)])
        return own

    def submitted(self, name: str) -> str:
        """Submit an application that raises no flag."""
        own = new("a")
        document = application(own, name=name, address={"line1": f"{own} Elm Street"})
        bucket = self.stack.outputs["DocumentsBucket"]
        self.stack.client("s3").put_object(Bucket=bucket, Key=document["document_key"], Body=PDF + own.encode())
        applications.submit(self.stack, document)
        return own

    def application(self, name: str) -> str:
        """An application that raises no flag, decided."""
        own = self.submitted(name)
        *_, last = applications.follow(self.stack, own, seconds=300)
        assert last.decided
        return own

    @staticmethod
    def review(application_id: str) -> str:
        return f"account-opening.{application_id}.review"

    def abandoned_lease(self) -> str:
        """A job whose owner crashed, so that its outcome is unknown. Returns its id."""
        own = new("job")
        store = LeaseStore(self.stack.dynamodb, self.stack.outputs["IdempotencyTable"])
        store.lease(RUN_JOB, own, {"JobId": own}, deadline=datetime.now(UTC) + timedelta(milliseconds=10))
        time.sleep(1.5)
        return own

    def failed_message(self) -> str:
        """The name of a function's failure queue, with a message that the function can handle again."""
        name = "FinalizeOrderFailures"
        queue = next(one for one in listed(self.stack, STACK_NAME) if one.is_for_failures and not one.holds_records)
        function = self.stack.outputs["SweepOrdersFunctionArn"]
        body = {"requestContext": {"functionArn": function}, "requestPayload": {}, "responsePayload": _error(name)}
        self.stack.client("sqs").send_message(QueueUrl=queue.url, MessageBody=json.dumps(body))
        return queue.name

    @contextmanager
    def order_that_runs(self) -> Iterator[str]:
        """An order that does not get past its reservation until the end."""
        document = self.order()
        with through_proxy(self.stack, self.resources, "ReserveInventory") as proxy:
            proxy.held.clear()
            orders.place(self.stack, document)
            try:
                yield str(document["order_id"])
            finally:
                proxy.held.set()
                orders.ended(self.stack, document["order_id"], seconds=300)


def _outcome(row: int) -> Outcome:
    if row % 100 == 0:
        return Outcome(row, code="NotANumber", column="price", offset=1, length=1)
    return Outcome(row, sk=f"PRODUCT#p{row}", version=1, effect="created")


def _error(name: str) -> dict[str, str]:
    return {"errorType": name, "errorMessage": "made by a test"}
