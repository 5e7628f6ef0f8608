"""Causes of alarms: each metric of each resource with its threshold, whichever alarm watches it."""

from collections.abc import Iterator
from dataclasses import dataclass

from tests.kit.metric_math import Metric

_STATES, _LAMBDA, _QUEUES = ("AWS/States", "StateMachineArn"), ("AWS/Lambda", "FunctionName"), ("AWS/SQS", "QueueName")
_MAPPINGS, _TOPICS = ("AWS/Lambda", "EventSourceMappingUUID"), ("AWS/SNS", "TopicName")
_RULES, _API, _OWN = ("AWS/Events", "RuleName"), ("AWS/ApiGateway", "ApiId"), ("own", "")
_ACCOUNT = ("AWS/Lambda", "")

MACHINES = (
    "OrderSaga OrderRecovery AccountSetup AccountRecovery AccountOpening Command ImportCsv ImportZip Task UserImport"
)
READERS = (
    "StartApplications SendCallbacks NotifyApprovals StartCommands WakeCommands SyncTargets NotifyCommands"
    " FollowImports NotifyImports NotifyOrders LaunchTasks NotifyTasks"
)
MAPPED = (
    "StartApplicationsFunctionCreated SendCallbacksFunctionDecided NotifyApprovalsFunctionChanged"
    " StartCommandsFunctionCommandPublished WakeCommandsFunctionGateMoved SyncTargetsFunctionDataWritten"
    " NotifyCommandsFunctionEnded FollowImportsFunctionWritten NotifyImportsFunctionEnded NotifyOrdersFunctionEnded"
    " LaunchTasksFunctionCreated NotifyTasksFunctionEnded ReportOrdersFunctionOrdersChanged"
)
FAILURES = (
    "Application Account Approval Command ImportUpload Zip Import ImportAction Job Finalization Task TaskAction Upload"
    " Notification"
)
SWEEPS = "Applications Approvals Commands Zips Imports Tasks"


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause. breaching: a value that raises the alarm. harmless: one that does not. periods: required data points."""

    metric: Metric
    breaching: float
    harmless: float
    periods: int = 1

    def __str__(self) -> str:
        return f"{self.metric.name}-{self.metric.resource or self.metric.period}"


def _causes() -> Iterator[Cause]:
    business = "OrderSaga AccountOpening AccountSetup Command ImportCsv ImportZip"
    yield from _each(_STATES, "ExecutionsFailed", business, at=10)
    yield from _each(_STATES, "ExecutionsFailed", "OrderRecovery AccountRecovery Task UserImport")
    yield from _each(_STATES, "ExecutionsTimedOut", MACHINES)
    yield from _each(_STATES, "ExecutionsAborted", MACHINES)
    yield from _each(_STATES, "ExecutionThrottled", MACHINES)
    for machine, slow in {"AccountOpening": 777_600, "Command": 300, "ImportCsv": 3600, "ImportZip": 21_600}.items():
        yield from _each(_STATES, "ExecutionTime", machine, "p95", at=slow * 1000)
    yield from _each(_STATES, "ExecutionTime", "Task", "p95", at=600_000)
    yield from _each(_LAMBDA, "IteratorAge", _functions(READERS), "Maximum", at=60_000)
    yield from _each(_LAMBDA, "IteratorAge", "ReportOrdersFunction", "Maximum", at=600_000)
    yield from _each(_MAPPINGS, "OnFailureDestinationDeliveredEventCount", MAPPED)
    yield from _each(_MAPPINGS, "DroppedEventCount", MAPPED)
    losing = "ApplicationEnded ApprovalEnded CommandEnded CreateImport ImportEnded ZipEnded RunJob TaskEnded"
    yield from _each(_LAMBDA, "DestinationDeliveryFailures", _functions(f"{losing} StartUserImport"))
    dead = " ".join(f"{name}FailuresQueue" for name in FAILURES.split())
    yield from _each(_QUEUES, "ApproximateNumberOfMessagesVisible", dead, "Maximum")
    waiting = "ImportActionQueue TaskActionQueue NotificationQueue"
    yield from _each(_QUEUES, "ApproximateAgeOfOldestMessage", waiting, "Maximum", at=900)
    sweeps = " ".join(f"Sweep{name}" for name in SWEEPS.split())
    yield from _each(_LAMBDA, "Errors", _functions(f"{sweeps} SweepWebhooks"))
    yield from _each(_LAMBDA, "Errors", _functions("SweepAccounts SweepOrders"), period=900)
    yield from _missing(_functions(f"{sweeps} SweepAccounts SweepOrders"), 3600)
    yield from _missing("SweepWebhooksFunction", 900)
    yield from _each(_RULES, "FailedInvocations", "FinalizeOrderFunctionSagaEnded FinalizeAccountFunctionSetupEnded")
    yield from _each(_TOPICS, "NumberOfNotificationsFailed", "OrderEventsTopic NotificationTopic")
    yield from _each(_API, "5xx", "HttpApi", at=5)
    yield Cause(Metric("AWS/ApiGateway", "Latency", "ApiId", "HttpApi", "p95", 300), 3001, 3000, periods=3)
    yield Cause(Metric(*_pair(_ACCOUNT, "Throttles"), "", "Sum", 60), 1, 0, periods=3)
    for counted, period in {"OrdersStanding": 1800, "OrdersContradictory": 1800, "AccountsStanding": 1800}.items():
        yield from _each(_OWN, counted, "", "Maximum", period=period)
    for counted in ("ApprovalsLagging", "ApprovalsOverdue", "CommandsBlocked", "CommandsLagging"):
        yield from _each(_OWN, counted, "", "Maximum", period=600)
    yield from _each(_OWN, "WebhooksOverdueSeconds", "", "Maximum", at=600)
    for noted in ("ApprovalsTimedOut", "CardProcessorErrors", "NoticeFailed", "PaymentGatewayErrors", "WebhooksGaveUp"):
        yield from _each(_OWN, noted, "")


def _each(
    kind: tuple[str, str], metric: str, resources: str, statistic: str = "Sum", *, at: float = 1, period: int = 300
) -> Iterator[Cause]:
    """A metric of several resources, which alarms from `at` on."""
    for resource in resources.split() or [""]:
        yield Cause(Metric(*_pair(kind, metric), resource, statistic, period), at, at - 1)


def _missing(functions: str, period: int) -> Iterator[Cause]:
    """Functions that must be invoked in each period."""
    for function in functions.split():
        yield Cause(Metric("AWS/Lambda", "Invocations", "FunctionName", function, "Sum", period), 0, 1)


def _pair(kind: tuple[str, str], metric: str) -> tuple[str, str, str]:
    namespace, dimension = kind
    return namespace, metric, dimension


def _functions(names: str) -> str:
    return " ".join(f"{name}Function" for name in names.split())


CAUSES = list(_causes())
