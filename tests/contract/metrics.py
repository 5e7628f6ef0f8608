"""The CloudWatch metrics of this project, and those that exist."""

from typing import Any

from tests.kit.template import of_type

# From each service's page of metrics: namespace -> metric -> its dimensions.
_EXECUTIONS = ("StateMachineArn",)
_FUNCTION = ("FunctionName",)
_TABLE = ("TableName",)
EXISTING: dict[str, dict[str, tuple[str, ...]]] = {
    "AWS/States": {
        "ExecutionsStarted": _EXECUTIONS,
        "ExecutionsSucceeded": _EXECUTIONS,
        "ExecutionsFailed": _EXECUTIONS,
        "ExecutionsTimedOut": _EXECUTIONS,
        "ExecutionsAborted": _EXECUTIONS,
        "ExecutionThrottled": _EXECUTIONS,
        "ExecutionTime": _EXECUTIONS,
    },
    "AWS/Lambda": {
        "Invocations": _FUNCTION,
        "Errors": _FUNCTION,
        "Throttles": _FUNCTION,
        "Duration": _FUNCTION,
        "IteratorAge": _FUNCTION,
        "DestinationDeliveryFailures": _FUNCTION,
        "OnFailureDestinationDeliveredEventCount": ("EventSourceMappingUUID",),
        "DroppedEventCount": ("EventSourceMappingUUID",),
    },
    "AWS/DynamoDB": {
        "WriteThrottleEvents": _TABLE,
        "ReadThrottleEvents": _TABLE,
        "ConsumedWriteCapacityUnits": _TABLE,
        "ConsumedReadCapacityUnits": _TABLE,
        "TransactionConflict": _TABLE,
    },
    "AWS/SQS": {
        "ApproximateAgeOfOldestMessage": ("QueueName",),
        "ApproximateNumberOfMessagesVisible": ("QueueName",),
    },
    "AWS/SNS": {
        "NumberOfMessagesPublished": ("TopicName",),
        "NumberOfNotificationsFailed": ("TopicName",),
    },
    # Metrics of an HTTP API; a REST API calls them 4XXError and 5XXError.
    "AWS/ApiGateway": dict.fromkeys(("Count", "4xx", "5xx", "Latency", "IntegrationLatency"), ("ApiId",)),
    "AWS/Events": {"FailedInvocations": ("RuleName",), "InvocationsFailedToBeSentToDlq": ("RuleName",)},
}
# Metrics that a service also publishes for the whole account.
WITHOUT_DIMENSIONS = {("AWS/Lambda", "Throttles")}


def own() -> set[str]:
    """The metrics of the metric filters."""
    filters = of_type("AWS::Logs::MetricFilter").values()
    return {made["MetricName"] for one in filters for made in one["MetricTransformations"]}


def exists(namespace: Any, name: str, dimensions: tuple[str, ...]) -> bool:
    """Returns True if there is such a metric. dimensions: their names, in order."""
    if namespace in ("own", "${AWS::StackName}"):
        return name in own() and not dimensions
    if not dimensions:
        return (namespace, name) in WITHOUT_DIMENSIONS
    return EXISTING[namespace].get(name) == dimensions
