"""A payment gateway is used where its address is given, and costs nothing where it is not."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from idempotency.lease import _MARGIN
from payments import gateway
from payments.gateway import CHARGE
from runtime import clients
from tests.contract.machine import MACHINES, SAGA
from tests.contract.project import FUNCTIONS as SOURCES
from tests.contract.project import IDEMPOTENCY
from tests.contract.template import FUNCTIONS, TEMPLATE, of_type, statements

CONDITION = "HasPaymentGateway"
ENVIRONMENT = {
    "IDEMPOTENCY_TABLE": "records",
    "RECORD_LIFETIME_DAYS": "90",
    "PAYMENTS_TABLE": "payments",
    "ORDERS_TABLE": "orders",
    "AWS_DEFAULT_REGION": "us-east-1",
}
REQUEST = gateway._CONNECT_SECONDS + gateway._READ_SECONDS
# botocore's standard mode pauses for up to a second before a second try.
DYNAMODB = clients._CONFIG.retries["total_max_attempts"] * (
    clients._CONFIG.connect_timeout + clients._CONFIG.read_timeout
)
DYNAMODB += clients._CONFIG.retries["total_max_attempts"] - 1
MADE = """
import sys
from payments.handlers import payments
payments()
print("requests" in sys.modules)
"""


def requests_is_loaded(**more: str) -> bool:
    """Whether the handlers of payments have loaded requests once they are ready for their first call."""
    script = f"import sys\nsys.path[:0] = {[str(SOURCES), str(IDEMPOTENCY)]}\n{MADE}"
    run = subprocess.run(
        [sys.executable, "-c", script], env=ENVIRONMENT | more, capture_output=True, text=True, check=True
    )
    return bool(json.loads(run.stdout.strip().lower()))


def conditional(role: str) -> list[tuple[Any, Any, Any]]:
    """The statements of a role that hang on a condition."""
    (policy,) = of_type("AWS::IAM::Role")[role]["Policies"]
    return [tuple(entry["Fn::If"]) for entry in policy["PolicyDocument"]["Statement"] if "Fn::If" in entry]


def test_requests_is_loaded_only_where_there_is_a_gateway() -> None:
    assert not requests_is_loaded()
    assert not requests_is_loaded(PAYMENT_GATEWAY_URL="")
    assert requests_is_loaded(PAYMENT_GATEWAY_URL="http://gateway.test/")


def test_the_address_is_told_to_what_charges_refunds_or_bars_a_charge() -> None:
    told = {function.state for function in FUNCTIONS.values() if "PAYMENT_GATEWAY_URL" in function.variables}
    variable = FUNCTIONS["ProcessPaymentFunction"].properties["Environment"]["Variables"]["PAYMENT_GATEWAY_URL"]

    assert told == {"ProcessPayment", "ProcessRefund", "SettleOrder", "SweepOrders"}
    assert variable == {"Fn::If": [CONDITION, {"Ref": "PaymentGatewayUrl"}, {"Ref": "AWS::NoValue"}]}


def test_a_charge_is_granted_what_it_needs_only_with_a_gateway() -> None:
    def granted(action: str, table: str) -> tuple[Any, Any, Any]:
        allowed = {"Effect": "Allow", "Action": [action], "Resource": {"Fn::GetAtt": [table, "Arn"]}}
        return CONDITION, allowed, {"Ref": "AWS::NoValue"}

    assert conditional("ProcessPaymentRole") == [
        granted("dynamodb:ConditionCheckItem", "PaymentsTable"),
        granted("dynamodb:UpdateItem", "IdempotencyTable"),
    ]
    assert conditional("ProcessRefundRole") == []


def test_a_refund_may_bar_its_step_before_it_calls_the_gateway() -> None:
    granted = {
        action
        for statement in statements("ProcessRefundRole")
        if statement.resources == ({"Fn::GetAtt": ["IdempotencyTable", "Arn"]},)
        for action in statement.actions
    }

    assert granted == {"dynamodb:PutItem", "dynamodb:UpdateItem"}


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_a_refusal_is_not_retried_and_an_outage_is(machine: Any) -> None:
    for state in ("ProcessPayment", "ProcessRefund"):
        retriers = machine.states.get(state, {}).get("Retry", [])
        retried = {
            name: retrier.get("MaxAttempts", 3) > 0 for retrier in reversed(retriers) for name in retrier["ErrorEquals"]
        }
        everything = retried.get("States.ALL", False)
        assert not retriers or not retried.get("GatewayRefused", everything)
        assert not retriers or retried.get("GatewayUnavailable", everything)


def test_the_alarm_counts_the_lines_of_the_gateways_own_logger() -> None:
    filters = [body for body in of_type("AWS::Logs::MetricFilter").values() if "Gateway" in str(body)]
    alarm = of_type("AWS::CloudWatch::Alarm")["PaymentGatewayAlarm"]
    wanted = f'{{ $.level = "ERROR" && $.logger = "{gateway._logger.name}" }}'

    assert {body["LogGroupName"]["Ref"] for body in filters} == {"ProcessPaymentLogGroup", "ProcessRefundLogGroup"}
    assert {body["FilterPattern"] for body in filters} == {wanted}
    assert {body["MetricTransformations"][0]["MetricName"] for body in filters} == {alarm["MetricName"]}


@pytest.mark.parametrize(
    ("address", "accepted"),
    [
        ("", True),
        ("https://gateway.test", True),
        ("https://gateway.test/v1/", True),
        ("http://127.0.0.1:4600", True),
        ("http://127.0.0.1:4600/v1", True),
        ("http://gateway.test", False),
        ("http://127.0.0.1.gateway.test", False),
        ("http://127.0.0.1@gateway.test", False),
        ("gateway.test", False),
        ("ftp://gateway.test", False),
        ("https://gateway.test/charges?key=secret", False),
        ("https://gateway.test/ ", False),
    ],
)
def test_the_parameter_takes_an_address_and_nothing_else(address: str, accepted: bool) -> None:
    pattern = TEMPLATE["Parameters"]["PaymentGatewayUrl"]["AllowedPattern"]

    assert bool(re.fullmatch(pattern, address)) is accepted


def test_a_charge_ends_before_its_function_does() -> None:
    """It waits for a lease, asks and charges; of DynamoDB's five calls one may be as slow as it can be."""
    slowest = gateway._WAIT.total_seconds() + 2 * REQUEST + DYNAMODB

    assert slowest < FUNCTIONS["ProcessPaymentFunction"].timeout


def test_a_cancel_ends_before_its_function_does() -> None:
    """It finds no record, bars, cancels, finds nothing to undo and writes a tombstone."""
    assert FUNCTIONS["ProcessRefundFunction"].timeout > 4 * DYNAMODB + REQUEST


def test_the_lease_of_a_charge_outlasts_a_request_and_is_outlasted_by_the_attempts() -> None:
    retries = SAGA.states["ProcessPayment"]["Retry"][0]["MaxAttempts"]

    assert CHARGE.duration is not None
    assert CHARGE.duration.total_seconds() > REQUEST
    assert CHARGE.duration + _MARGIN < retries * gateway._WAIT
