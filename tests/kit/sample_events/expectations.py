"""The expected results of each sample event, the first time and repeated."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from idempotency.saga import Saga, SagaStep
from ordering.definition import ORDER_SAGA, STEP_NAMES
from stepwise.operations import orders, report, stock
from stepwise.operations.stack import Row, Stack
from tests.kit.project import ROOT, read_json
from tests.kit.sample_events import (
    accounts,
    api,
    applications,
    approvals,
    commands,
    imports,
    row_imports,
    tasks,
    webhooks,
    zips,
)
from tests.kit.sample_events.expected import Expected, Given, invoked
from tests.kit.template import snake_case

ORDER_ID = "o-1001"
# The value in the sample events.
_EXECUTION = f"arn:aws:states:us-east-1:000000000000:execution:OrderSaga:{ORDER_ID}"
_LONG_AGO = "2026-01-01T00:00:00+00:00"
_CONTENT = b"hello"
_VERSION = "IYV3p45BT0ac8hjHg1houSdS1a.Mro8e"


def done(*functions: str) -> Given:
    """Run these functions on the event's order."""

    def given(stack: Stack, event: Any) -> Mapping[str, str]:
        for function in functions:
            invoked(stack, function, _order(event))
        return {}

    return given


def forgotten(stack: Stack, _: Any) -> Mapping[str, str]:
    """Age the order as if its saga had ended long ago and its event had been lost."""
    execution = orders.execution_arn(stack, ORDER_ID)
    placed = stack.stepfunctions.describe_execution(executionArn=execution)
    done(*STEP_NAMES)(stack, json.loads(placed["input"]))
    stack.dynamodb.update_item(
        TableName=stack.outputs["OrdersTable"],
        Key={"order_id": {"S": ORDER_ID}},
        UpdateExpression="SET created_at = :long_ago",
        ExpressionAttributeValues={":long_ago": {"S": _LONG_AGO}},
    )
    return {_EXECUTION: execution}


def timed_out(stack: Stack, event: Any) -> Mapping[str, str]:
    """Run ProcessOrder on an order with a new id: its recovery's execution would keep the id of an earlier one."""
    order_id = f"{ORDER_ID}-{uuid.uuid4().hex[:8]}"
    invoked(stack, "ProcessOrder", {**_order(event), "order_id": order_id})
    return {ORDER_ID: order_id}


def counted(stack: Stack, _: Any) -> Mapping[str, str]:
    """Count the order in the reports."""
    invoked(stack, "ReportOrders", read_json(ROOT / "events/reporting" / "report_orders.json"))
    return {}


def uploaded(stack: Stack, _: Any) -> Mapping[str, str]:
    """Create the event's bucket, with versions, and put the object."""
    s3 = stack.client("s3")
    s3.create_bucket(Bucket="bucket")
    s3.put_bucket_versioning(Bucket="bucket", VersioningConfiguration={"Status": "Enabled"})
    return {_VERSION: s3.put_object(Bucket="bucket", Key="smallfile", Body=_CONTENT)["VersionId"]}


def order(stack: Stack) -> Any:
    return _status(stack.row("OrdersTable", order_id=ORDER_ID))


def payment(stack: Stack) -> Any:
    return _status(stack.row("PaymentsTable", order_id=ORDER_ID))


def reservation(stack: Stack) -> Any:
    return _status(stack.row("InventoryTable", pk=f"RESERVATION#{ORDER_ID}"))


def tea(stack: Stack) -> int:
    return stock.on_hand(stack)["tea-01"]


def records(stack: Stack) -> int:
    """The number of recorded steps and leases, without the reports' records."""
    return sum("status" in row for row in stack.rows("IdempotencyTable"))


def reports(stack: Stack) -> Any:
    """The report of the day of the sample records."""
    return [tuple(line) for line in report.lines(stack, "2026-11-20")]


def recovery(stack: Stack) -> str:
    """The status of the only order's recovery."""
    (row,) = stack.rows("OrdersTable")
    return orders.ended(stack, row["order_id"], seconds=300, output="OrderRecoveryArn").status


def only_order(stack: Stack) -> Any:
    (row,) = stack.rows("OrdersTable")
    return row["status"]


def of_steps(saga: Saga) -> Iterator[tuple[str, Expected]]:
    """Expected results of the event of a step and of its compensation, unless EXPECTED says more."""
    for step in saga.deployed:
        yield snake_case(step.name), Expected(..., leaves={_standing(step): True})
        yield snake_case(step.compensation), Expected(UNDONE, given=done(step.name), leaves={_standing(step): False})


def _standing(step: SagaStep) -> Callable[[Stack], bool]:
    def standing(stack: Stack) -> bool:
        key = {name: {"S": value} for name, value in step.row_key(ORDER_ID).items()}
        table = json.loads(stack.outputs["StepTables"])[step.table]
        return step.is_standing(stack.dynamodb.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item"))

    return standing


def _status(row: Row | None) -> Any:
    return row["status"] if row else None


def _order(event: Any) -> Any:
    return json.loads(event["detail"]["input"]) if "detail" in event else event


CAPTURED = {"status": "Captured", "amount": 3000, "currency": "JPY"}
UNDONE = {"undone": True}
SUMMARY = {"bucket": "bucket", "key": "smallfile", "size": len(_CONTENT), "lines": 1}
NO_FAILURES: Mapping[str, Any] = {"batchItemFailures": []}
ONE_ORDER = ("Confirmed", "JPY", 1, 3000)

EXPECTED: dict[str, Expected] = {
    **dict(of_steps(ORDER_SAGA)),
    "process_order": Expected({"order_id": ORDER_ID, "status": "New", "total": 3000}, leaves={order: "New"}),
    "process_order_invalid": Expected(error="InvalidOrder", leaves={records: 0}),
    "update_order_status": Expected(UNDONE, given=done("ProcessOrder"), leaves={order: "Pending"}),
    "process_payment": Expected(CAPTURED, leaves={payment: "Captured"}),
    "process_payment_declined": Expected(error="PaymentDeclined", leaves={records: 0}),
    "process_refund": Expected(UNDONE, given=done("ProcessPayment"), leaves={payment: "Refunded"}),
    "reserve_inventory": Expected({"status": "Reserved", "lines": 1}, leaves={reservation: "Reserved", tea: 98}),
    "reserve_inventory_out_of_stock": Expected(error="OutOfStock", leaves={records: 0, tea: 100}),
    "release_inventory": Expected(UNDONE, given=done("ReserveInventory"), leaves={reservation: "Released", tea: 100}),
    "finalize_order": Expected(given=done(*STEP_NAMES), leaves={order: "Confirmed"}),
    "finalize_order_long_input": Expected(given=forgotten, leaves={order: "Confirmed"}),
    "finalize_order_timed_out": Expected(given=timed_out, leaves={recovery: "SUCCEEDED", only_order: "Pending"}),
    "sweep_orders": Expected(
        {"finalized": 1, "standing": 0},
        again={"finalized": 0, "standing": 0},
        given=forgotten,
        leaves={order: "Confirmed"},
    ),
    "report_orders": Expected(NO_FAILURES, leaves={reports: [ONE_ORDER]}),
    "report_orders_deleted": Expected(NO_FAILURES, given=counted, leaves={reports: []}),
    "report_orders_expired": Expected(NO_FAILURES, given=counted, leaves={reports: [ONE_ORDER]}),
    "report_orders_malformed": Expected(
        {"batchItemFailures": [{"itemIdentifier": "820400000000000001192339"}]}, leaves={reports: []}
    ),
    "notify_orders": Expected(NO_FAILURES),
    "run_job": Expected({"job_id": "12345", **SUMMARY}, given=uploaded, leaves={records: 1}),
    "run_job_object_created": Expected(SUMMARY, given=uploaded, leaves={records: 1}),
    **imports.EXPECTED,
    **webhooks.EXPECTED,
    **api.EXPECTED,
    **commands.EXPECTED,
    **row_imports.EXPECTED,
    **zips.EXPECTED,
    **tasks.EXPECTED,
    **accounts.EXPECTED,
    **applications.EXPECTED,
    **approvals.EXPECTED,
}
