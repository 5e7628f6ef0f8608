"""Stream records that their function could not handle, as the event source mapping keeps them in S3."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from reporting.change import Record
from stepwise.operations.stack import Stack

# Prefixes of the records that Lambda writes, and of replayed records.
KEPT, REPLAYED = "aws/lambda/", "replayed/"

type Deliver = Callable[[str, Record], bool]


@dataclass(frozen=True, slots=True)
class KeptRecords:
    """The stored records. s3: a `boto3.client("s3")`."""

    s3: Any
    bucket: str

    def names(self) -> Iterator[str]:
        """Yield the objects, in the order in which they were stored."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=KEPT)
        for page in pages:
            for listed in page.get("Contents", []):
                yield listed["Key"]

    def records(self, key: str) -> list[tuple[str, Record]]:
        """Return an object's records, each with the failed function's ARN; none if Lambda did not write the object."""
        body = self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        try:
            kept = json.loads(body)
            function, payload = kept["requestContext"]["functionArn"], kept["payload"]
            event = json.loads(payload) if isinstance(payload, str) else payload
            return [(function, record) for record in event["Records"]]
        except (ValueError, KeyError, TypeError):
            return []

    def cause(self, key: str) -> str:
        """Return why the records of an object failed, according to Lambda."""
        body = self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        try:
            kept = json.loads(body)
            name = kept["requestContext"]["functionArn"].rpartition(":function:")[2]
            return f"{name}: {kept['requestContext']['condition']}"
        except (ValueError, KeyError, TypeError):
            return "not written by Lambda"

    def move_away(self, key: str) -> None:
        """Move an object away. Idempotent: an object that was copied but not deleted is copied again."""
        source = {"Bucket": self.bucket, "Key": key}
        self.s3.copy_object(Bucket=self.bucket, Key=f"{REPLAYED}{key}", CopySource=source)
        self.s3.delete_object(**source)


def deliverer(stack: Stack) -> Deliver:
    """Return a function that invokes the function of an ARN with a record, as its event source mapping does."""

    def deliver(function: str, record: Any) -> bool:
        answer = stack.client("lambda").invoke(FunctionName=function, Payload=json.dumps({"Records": [record]}))
        body = json.loads(answer["Payload"].read())
        return "FunctionError" not in answer and not body["batchItemFailures"]

    return deliver
