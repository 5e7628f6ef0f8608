"""A payment gateway is used if its address is set, and costs nothing otherwise."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from idempotency.claim import _MARGIN
from ordering import gateway
from ordering.gateway import CHARGE
from runtime import bearer, clients, keyed
from tests.kit.machine import MACHINES
from tests.kit.project import FUNCTIONS as SOURCES
from tests.kit.project import IDEMPOTENCY, ROOT
from tests.kit.template import FUNCTIONS, RESOURCES, TEMPLATE, of_type, statements

CONDITION = "HasPaymentGateway"
SAGA = MACHINES["OrderSaga"]
ENVIRONMENT = {
    "IDEMPOTENCY_TABLE": "records",
    "RECORD_LIFETIME_DAYS": "90",
    "PAYMENTS_TABLE": "payments",
    "ORDERS_TABLE": "orders",
    "AWS_DEFAULT_REGION": "us-east-1",
}
# The work before a request, and the request.
REQUEST = keyed.START_SECONDS + bearer.CONNECT_SECONDS + bearer.READ_SECONDS
# botocore's standard mode pauses for up to a second before a second attempt.
DYNAMODB = clients._CONFIG.retries["total_max_attempts"] * (
    clients._CONFIG.connect_timeout + clients._CONFIG.read_timeout
)
DYNAMODB += clients._CONFIG.retries["total_max_attempts"] - 1
# Secrets Manager has a client with the same settings.
SECRET = DYNAMODB
MADE = """
import sys
from ordering.handlers import payments
payments()
print("h11" in sys.modules)
"""
WITH_GATEWAY = {
    "PAYMENT_GATEWAY_URL": "https://gateway.test/",
    "PAYMENT_GATEWAY_SECRET_ARN": "a",
    "PAYMENT_KEY_ARN": "b",
}


VARIABLES = {
    "PAYMENT_GATEWAY_URL": {"Ref": "PaymentGatewayUrl"},
    "PAYMENT_GATEWAY_SECRET_ARN": {"Ref": "PaymentGatewaySecretArn"},
    "PAYMENT_KEY_ARN": {"Fn::GetAtt": ["PaymentKey", "Id"]},
}


def http_is_loaded(**more: str) -> bool:
    """Returns True if the payment handlers have loaded the HTTP client before their first call."""
    script = f"import sys\nsys.path[:0] = {[str(SOURCES), str(IDEMPOTENCY)]}\n{MADE}"
    run = subprocess.run(
        [sys.executable, "-c", script], env=ENVIRONMENT | more, capture_output=True, text=True, check=True
    )
    return bool(json.loads(run.stdout.strip().lower()))


def conditional(role: str) -> list[tuple[Any, Any, Any]]:
    """The conditional statements of a role."""
    (policy,) = of_type("AWS::IAM::Role")[role]["Policies"]
    return [tuple(entry["Fn::If"]) for entry in policy["PolicyDocument"]["Statement"] if "Fn::If" in entry]


@pytest.mark.slow
def test_http_client_is_loaded_only_with_a_gateway() -> None:
    assert not http_is_loaded()
    assert not http_is_loaded(PAYMENT_GATEWAY_URL="")
    assert http_is_loaded(**WITH_GATEWAY)


@pytest.mark.parametrize(("name", "value"), VARIABLES.items())
def test_only_callers_of_the_gateway_get_its_address_and_secrets(name: str, value: Any) -> None:
    """They get only the secrets' ARNs. Finalization bars charges without a call, but must detect a gateway."""
    wanted = {"Fn::If": [CONDITION, value, {"Ref": "AWS::NoValue"}]}
    own = {
        function.state: function.properties.get("Environment", {}).get("Variables", {})
        for function in FUNCTIONS.values()
    }
    told = {(state, known) for state, variables in own.items() for known, given in variables.items() if given == wanted}
    bars = (
        {("FinalizeOrder", "OUTSIDE_URL"), ("SweepOrders", "OUTSIDE_URL")} if name == "PAYMENT_GATEWAY_URL" else set()
    )

    assert told == {("ProcessPayment", name), ("ProcessRefund", name)} | bars
    assert {function.state for function in FUNCTIONS.values() if name in function.variables} == {
        "ProcessPayment",
        "ProcessRefund",
    }


def test_charge_and_refund_get_grants_only_with_a_gateway() -> None:
    def granted(action: str, resource: Any, condition: str = CONDITION) -> tuple[Any, Any, Any]:
        return condition, {"Effect": "Allow", "Action": [action], "Resource": resource}, {"Ref": "AWS::NoValue"}

    arns = [VARIABLES["PAYMENT_GATEWAY_SECRET_ARN"], VARIABLES["PAYMENT_KEY_ARN"]]
    secrets = granted("secretsmanager:GetSecretValue", arns, "HasPaymentGatewaySecret")
    assert conditional("ProcessPaymentRole") == [
        granted("dynamodb:ConditionCheckItem", {"Fn::GetAtt": ["PaymentsTable", "Arn"]}),
        secrets,
    ]
    assert conditional("ProcessRefundRole") == [secrets]


def test_gateway_cannot_be_deployed_without_a_secret() -> None:
    def given(parameter: str) -> Any:
        return {"Fn::Not": [{"Fn::Equals": [{"Ref": parameter}, ""]}]}

    rule = TEMPLATE["Rules"]["PaymentGatewayIsAuthenticated"]
    assert rule["RuleCondition"] == given("PaymentGatewayUrl") == TEMPLATE["Conditions"][CONDITION]
    assert [one["Assert"] for one in rule["Assertions"]] == [given("PaymentGatewaySecretArn")]


def test_payment_key_is_created_once_and_outlives_gateway_and_stack() -> None:
    """It has no condition, so a gateway added again finds its charges. Another generator would replace the value."""
    key = RESOURCES["PaymentKey"]

    assert "Condition" not in key
    assert (key["DeletionPolicy"], key["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")
    assert key["Properties"]["GenerateSecretString"] == {"PasswordLength": 64, "ExcludePunctuation": True}
    assert key["Properties"].keys() == {"Description", "GenerateSecretString", "Tags"}
    assert [one for one, body in RESOURCES.items() if "Rotation" in body["Type"]] == []
    assert "| `PaymentKey` |" in (ROOT / "docs" / "deploy.md").read_text()


def test_refund_may_bar_its_step_before_it_calls_the_gateway() -> None:
    granted = {
        action
        for statement in statements("ProcessRefundRole")
        if statement.resources == ({"Fn::GetAtt": ["IdempotencyTable", "Arn"]},)
        for action in statement.actions
    }

    assert granted == {"dynamodb:PutItem", "dynamodb:UpdateItem"}


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_outage_is_retried_but_a_decline_is_not(machine: Any) -> None:
    for state in ("ProcessPayment", "ProcessRefund"):
        retriers = machine.states.get(state, {}).get("Retry", [])
        retried = {
            name: retrier.get("MaxAttempts", 3) > 0 for retrier in reversed(retriers) for name in retrier["ErrorEquals"]
        }
        everything = retried.get("States.ALL", False)
        assert not retriers or not retried.get("GatewayRefused", everything)
        assert not retriers or retried.get("GatewayUnavailable", everything)


def test_alarm_counts_lines_of_the_gateways_own_logger() -> None:
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
def test_gateway_parameter_accepts_only_an_address(address: str, accepted: bool) -> None:
    pattern = TEMPLATE["Parameters"]["PaymentGatewayUrl"]["AllowedPattern"]

    assert bool(re.fullmatch(pattern, address)) is accepted


@pytest.mark.parametrize(
    ("arn", "accepted"),
    [
        ("", True),
        ("arn:aws:secretsmanager:eu-central-1:123456789012:secret:gateway/token-AbC123", True),
        ("arn:aws-cn:secretsmanager:cn-north-1:123456789012:secret:gateway-AbC123", True),
        ("a-token-and-no-arn", False),
        ("arn:aws:secretsmanager:eu-central-1:123456789012:secret:gateway", False),
        ("arn:aws:secretsmanager:eu-central-1:123456789012:secret:*", False),
        ("arn:aws:ssm:eu-central-1:123456789012:parameter/gateway-AbC123", False),
    ],
)
def test_secret_parameter_accepts_only_the_arn_of_one_secret(arn: str, accepted: bool) -> None:
    pattern = TEMPLATE["Parameters"]["PaymentGatewaySecretArn"]["AllowedPattern"]

    assert bool(re.fullmatch(pattern, arn)) is accepted


def test_charge_ends_before_its_function_times_out() -> None:
    """It waits for a lease, looks up and charges; one of the six DynamoDB calls may take its maximum.

    An attempt that reads two secrets too slowly, or a new one after a rejection, ends there.
    """
    ends_early = (2 * SECRET, REQUEST + keyed.START_SECONDS + SECRET)
    slowest = keyed.WAIT.total_seconds() + DYNAMODB + max(2 * REQUEST, *ends_early)

    assert slowest < FUNCTIONS["ProcessPaymentFunction"].timeout


def test_cancel_ends_before_its_function_times_out() -> None:
    """It finds no record, bars the step, cancels, finds nothing to undo and writes a tombstone."""
    ends_early = 2 * DYNAMODB + max(2 * SECRET, keyed.START_SECONDS + SECRET)

    assert FUNCTIONS["ProcessRefundFunction"].timeout > max(4 * DYNAMODB + REQUEST, ends_early)


def test_charge_lease_outlasts_a_request_but_not_the_attempts() -> None:
    retries = SAGA.states["ProcessPayment"]["Retry"][0]["MaxAttempts"]

    assert CHARGE.duration is not None
    assert CHARGE.duration.total_seconds() > REQUEST
    assert CHARGE.duration + _MARGIN < retries * keyed.WAIT
