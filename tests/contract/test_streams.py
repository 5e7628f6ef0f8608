"""Event source mappings of streams: no record blocks a shard or is lost silently."""

import json
from typing import Any

import pytest

from tests.contract.alarms import watched
from tests.kit.project import ROOT
from tests.kit.template import FUNCTIONS, allowed, arn_of, of_type

DAY = 24 * 3600
MAPPINGS: dict[str, tuple[str, dict[str, Any]]] = {
    f"{name}{event}": (name, body["Properties"])
    for name, function in FUNCTIONS.items()
    for event, body in function.properties.get("Events", {}).items()
    if body["Type"] == "DynamoDB"
}
BUCKETS = of_type("AWS::S3::Bucket")

every_mapping = pytest.mark.parametrize(("mapping", "function", "properties"), [(m, *v) for m, v in MAPPINGS.items()])
every_destination = pytest.mark.parametrize(
    "bucket",
    sorted(
        {
            str(arn_of(properties["DestinationConfig"]["OnFailure"]["Destination"]))
            for _, properties in MAPPINGS.values()
        }
    ),
)


def test_the_orders_are_reported() -> None:
    assert [function for function, _ in MAPPINGS.values()] == ["ReportOrdersFunction"]


@every_mapping
def test_a_poison_record_cannot_block_a_shard(mapping: str, function: str, properties: dict[str, Any]) -> None:
    assert properties["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert properties["BisectBatchOnFunctionError"] is True
    assert 0 < properties["MaximumRetryAttempts"] < 100
    assert 0 < properties["MaximumRecordAgeInSeconds"] < DAY


@every_mapping
def test_failed_records_are_kept_whole(mapping: str, function: str, properties: dict[str, Any]) -> None:
    destination = properties["DestinationConfig"]["OnFailure"]
    bucket, role = arn_of(destination["Destination"]), str(FUNCTIONS[function].role)

    assert bucket in BUCKETS
    assert allowed(role, "s3:PutObject") == [{"Fn::Sub": f"${{{bucket}.Arn}}/aws/lambda/*"}]
    assert [arn_of(resource) for resource in allowed(role, "s3:ListBucket")] == [bucket]


@every_mapping
def test_the_stream_is_read_from_its_beginning(mapping: str, function: str, properties: dict[str, Any]) -> None:
    """LATEST would skip changes written while the mapping is created."""
    assert properties["StartingPosition"] == "TRIM_HORIZON"


@every_mapping
def test_a_function_may_read_its_stream_and_no_other(mapping: str, function: str, properties: dict[str, Any]) -> None:
    for action in ("DescribeStream", "GetRecords", "GetShardIterator"):
        assert allowed(str(FUNCTIONS[function].role), f"dynamodb:{action}") == [properties["Stream"]]


@every_mapping
def test_a_filter_is_a_pattern_of_lists(mapping: str, function: str, properties: dict[str, Any]) -> None:
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
    assert watched("IteratorAge", "FunctionName", {"Ref": function})
    assert watched("OnFailureDestinationDeliveredEventCount", "EventSourceMappingUUID", {"Ref": mapping})
    assert watched("DroppedEventCount", "EventSourceMappingUUID", {"Ref": mapping})


@every_destination
def test_failed_records_expire_only_after_their_replay(bucket: str) -> None:
    rules = BUCKETS[bucket]["LifecycleConfiguration"]["Rules"]

    assert [rule["Prefix"] for rule in rules if "ExpirationInDays" in rule] == ["replayed/"]


@pytest.mark.parametrize(
    ("table", "index"),
    [
        (table, index["IndexName"])
        for table, body in of_type("AWS::DynamoDB::Table").items()
        for index in body.get("GlobalSecondaryIndexes", [])
    ],
)
def test_the_guide_says_how_far_an_index_carries(table: str, index: str) -> None:
    """An index with one key for many items throttles its table."""
    section = (
        (ROOT / "docs" / "streams.md").read_text().partition("## How far the indexes carry")[2].partition("\n## ")[0]
    )

    assert f"| `{index}` of {table.removesuffix('Table')} |" in section
