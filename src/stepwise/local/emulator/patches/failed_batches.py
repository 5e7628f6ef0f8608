"""Writes the failed batches of a DynamoDB stream to S3, with the whole event, as Lambda does."""

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

SHARD = "shardId-00000000000000000000-00000000"


def discard(mapping: dict[str, Any], function: Any, records: Sequence[Any], *, tries: int, condition: str) -> None:
    """Write records to the mapping's failure destination, if it has one. tries: how often the function got them.

    MiniStack supports only destinations that get a pointer.
    """
    from ministack.services import lambda_svc, s3

    destination = mapping.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination", "")
    if not destination.startswith("arn:aws:s3:::"):
        source = mapping["EventSourceArn"]
        lambda_svc._send_ddb_stream_failure_record(mapping, function, records, source, {}, condition)
        return
    at = datetime.now(UTC)
    record = _invocation_record(mapping, records, tries, condition, at)
    key = f"aws/lambda/{mapping['UUID']}/{SHARD}/{at:%Y/%m/%d/%Y-%m-%dT%H.%M.%S}-{uuid.uuid4()}"
    s3._put_object(destination.rpartition(":")[2], key, json.dumps(record).encode(), {})


def _invocation_record(
    mapping: dict[str, Any], records: Sequence[Any], tries: int, condition: str, at: datetime
) -> dict[str, Any]:
    ends = [record["dynamodb"] for record in (records[0], records[-1])]
    arrived = [datetime.fromtimestamp(end["ApproximateCreationDateTime"], UTC) for end in ends]
    return {
        "requestContext": {
            "requestId": str(uuid.uuid4()),
            "functionArn": mapping["FunctionArn"],
            "condition": condition,
            "approximateInvokeCount": tries,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "version": "1.0",
        "timestamp": f"{at:%Y-%m-%dT%H:%M:%S.%fZ}",
        "DDBStreamBatchInfo": {
            "shardId": SHARD,
            "startSequenceNumber": ends[0]["SequenceNumber"],
            "endSequenceNumber": ends[1]["SequenceNumber"],
            "approximateArrivalOfFirstRecord": f"{arrived[0]:%Y-%m-%dT%H:%M:%SZ}",
            "approximateArrivalOfLastRecord": f"{arrived[1]:%Y-%m-%dT%H:%M:%SZ}",
            "batchSize": len(records),
            "streamArn": mapping["EventSourceArn"],
        },
        "payload": json.dumps({"Records": list(records)}),
    }
