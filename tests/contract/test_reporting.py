"""Event source mappings of streams: no record blocks a shard or is lost silently."""

import json
from collections import Counter
from typing import Any

from tests.kit.alarms import watched
from tests.kit.each import each
from tests.kit.project import ROOT
from tests.kit.template import FUNCTIONS, allowed, arn_of, of_type

DAY = 24 * 3600
MAX_READERS = 2
MAPPINGS: dict[str, tuple[str, dict[str, Any]]] = {
    f"{name}{event}": (name, body["Properties"])
    for name, function in FUNCTIONS.items()
    for event, body in function.properties.get("Events", {}).items()
    if body["Type"] == "DynamoDB"
}
BUCKETS = of_type("AWS::S3::Bucket")

every_mapping = each(("mapping", "function", "properties"), [(m, *v) for m, v in MAPPINGS.items()])
every_destination = each(
    "bucket",
    sorted(
        {
            str(arn_of(properties["DestinationConfig"]["OnFailure"]["Destination"]))
            for _, properties in MAPPINGS.values()
        }
    ),
)


def test_each_stream_has_its_readers() -> None:
    """A stream has at most two readers: a third one would throttle the others."""
    readers = {name: arn_of({"Ref": properties["Stream"]["Fn::GetAtt"][0]}) for name, properties in MAPPINGS.values()}

    assert readers == {
        "ReportOrdersFunction": "OrdersTable",
        "StartCommandsFunction": "CommandsTable",
        "WakeCommandsFunction": "GatesTable",
        "SyncTargetsFunction": "DataTable",
        "FollowImportsFunction": "ImportsTable",
        "SendCallbacksFunction": "ApprovalsTable",
        "StartApplicationsFunction": "ApplicationsTable",
        "NotifyApprovalsFunction": "ApprovalsTable",
        "NotifyCommandsFunction": "CommandsTable",
        "NotifyImportsFunction": "ImportsTable",
        "NotifyOrdersFunction": "OrdersTable",
        "NotifyTasksFunction": "TasksTable",
        "LaunchTasksFunction": "TasksTable",
    }
    assert max(Counter(readers.values()).values()) <= MAX_READERS


@each("mapping", ["StartCommandsFunctionCommandPublished", "WakeCommandsFunctionGateMoved"])
def test_commands_are_started_and_woken_one_by_one(mapping: str) -> None:
    _, properties = MAPPINGS[mapping]

    assert (properties["BatchSize"], properties["ParallelizationFactor"]) == (1, 10)
    assert (properties["MaximumRetryAttempts"], properties["MaximumRecordAgeInSeconds"]) == (4, 900)


def test_only_asynchronous_commands_are_started_and_only_once() -> None:
    (filtered,) = MAPPINGS["StartCommandsFunctionCommandPublished"][1]["FilterCriteria"]["Filters"]

    assert json.loads(filtered["Pattern"]) == {
        "eventName": ["INSERT"],
        "dynamodb": {"NewImage": {"mode": {"S": ["async"]}}},
    }


@every_mapping
def test_poison_record_cannot_block_a_shard(mapping: str, function: str, properties: dict[str, Any]) -> None:
    assert properties["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert properties["BisectBatchOnFunctionError"] is True
    assert 0 < properties["MaximumRetryAttempts"] < 100
    assert 0 < properties["MaximumRecordAgeInSeconds"] < DAY


@every_mapping
def test_failed_records_are_kept_in_full(mapping: str, function: str, properties: dict[str, Any]) -> None:
    destination = properties["DestinationConfig"]["OnFailure"]
    bucket, role = arn_of(destination["Destination"]), str(FUNCTIONS[function].role)

    assert bucket in BUCKETS
    assert {"Fn::Sub": f"${{{bucket}.Arn}}/aws/lambda/*"} in allowed(role, "s3:PutObject")
    assert [arn_of(resource) for resource in allowed(role, "s3:ListBucket")] == [bucket]


@every_mapping
def test_stream_is_read_from_its_beginning(mapping: str, function: str, properties: dict[str, Any]) -> None:
    """LATEST would skip changes written while the mapping is created."""
    assert properties["StartingPosition"] == "TRIM_HORIZON"


@every_mapping
def test_function_may_read_only_its_own_stream(mapping: str, function: str, properties: dict[str, Any]) -> None:
    for action in ("DescribeStream", "GetRecords", "GetShardIterator"):
        assert allowed(str(FUNCTIONS[function].role), f"dynamodb:{action}") == [properties["Stream"]]


@every_mapping
def test_filter_is_a_pattern_of_lists(mapping: str, function: str, properties: dict[str, Any]) -> None:
    def leaves(pattern: Any) -> list[Any]:
        return (
            [leaf for inner in pattern.values() for leaf in leaves(inner)] if isinstance(pattern, dict) else [pattern]
        )

    patterns = [json.loads(one["Pattern"]) for one in properties["FilterCriteria"]["Filters"]]
    assert patterns
    assert all(isinstance(leaf, list) for pattern in patterns for leaf in leaves(pattern))


@every_mapping
def test_lag_and_failed_records_raise_alarms(mapping: str, function: str, properties: dict[str, Any]) -> None:
    assert properties["MetricsConfig"] == {"Metrics": ["EventCount"]}
    assert watched("IteratorAge", function)
    assert watched("OnFailureDestinationDeliveredEventCount", mapping)
    assert watched("DroppedEventCount", mapping)


@every_destination
def test_failed_records_expire_only_after_their_replay(bucket: str) -> None:
    rules = BUCKETS[bucket]["LifecycleConfiguration"]["Rules"]

    assert [rule["Prefix"] for rule in rules if "ExpirationInDays" in rule] == ["replayed/"]


@each(
    ("table", "index"),
    [
        (table, index["IndexName"])
        for table, body in of_type("AWS::DynamoDB::Table").items()
        for index in body.get("GlobalSecondaryIndexes", [])
    ],
)
def test_guide_states_the_limits_of_an_index(table: str, index: str) -> None:
    """An index with one key for many items throttles its table."""
    section = (
        (ROOT / "docs" / "streams.md").read_text().partition("## How far the indexes carry")[2].partition("\n## ")[0]
    )

    assert f"| `{index}` of {table.removesuffix('Table')} |" in section
