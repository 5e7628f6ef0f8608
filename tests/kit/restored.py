"""Restores tables of a local stack to an earlier time.

On AWS, a restored table replaces the original under another name and with a new stream. Here, tables keep their
names: their content is replaced while the stream is off, so that no function sees restored rows as changes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import batched
from typing import Any

from stepwise import STACK_NAME
from stepwise.operations.stack import Stack

# Attributes of an event source mapping that CreateEventSourceMapping accepts unchanged.
_KEPT = (
    *("BatchSize", "BisectBatchOnFunctionError", "DestinationConfig", "FilterCriteria", "FunctionResponseTypes"),
    *("MaximumBatchingWindowInSeconds", "MaximumRecordAgeInSeconds", "MaximumRetryAttempts", "ParallelizationFactor"),
)
_AT_ONCE = 25


@dataclass(frozen=True)
class Tables:
    """All tables of a stack by logical id."""

    stack: Stack

    @cached_property
    def names(self) -> Mapping[str, str]:
        return dict(self.stack.resources(STACK_NAME, "AWS::DynamoDB::Table"))

    def copy(self, moment: str) -> None:
        """Copy every table in its current state to a new table. moment: the suffix of the copies' names."""
        for name in self.names.values():
            self.stack.dynamodb.restore_table_to_point_in_time(
                SourceTableName=name, TargetTableName=_copy(name, moment), UseLatestRestorableTime=True
            )

    def copied(self, table: str, moment: str, key: Mapping[str, str]) -> Any:
        """Return a row of a copy in DynamoDB JSON."""
        named = {name: {"S": value} for name, value in key.items()}
        return self.stack.dynamodb.get_item(TableName=_copy(self.names[table], moment), Key=named)["Item"]

    def take_back(self, tables: Iterable[str], moment: str) -> None:
        """Replace the content of tables by their copies, and connect their functions to a new, empty stream."""
        for name in (self.names[table] for table in tables):
            described = self.stack.dynamodb.describe_table(TableName=name)["Table"]
            stream = described.get("StreamSpecification")
            if stream:
                self._update(name, {"StreamEnabled": False})
            self._replace(name, [key["AttributeName"] for key in described["KeySchema"]], _copy(name, moment))
            if stream:
                after = self._update(name, stream)
                self._follow(described["LatestStreamArn"], after["LatestStreamArn"])

    def _update(self, name: str, stream: Any) -> Any:
        return self.stack.dynamodb.update_table(TableName=name, StreamSpecification=stream)["TableDescription"]

    def _replace(self, name: str, key: Iterable[str], copy: str) -> None:
        restored = {_key(item, key): item for item in self._items(copy)}
        gone = {_key(item, key): item for item in self._items(name)}.keys() - restored.keys()
        writes: list[Any] = [{"DeleteRequest": {"Key": json.loads(one)}} for one in gone]
        writes += [{"PutRequest": {"Item": item}} for item in restored.values()]
        for some in batched(writes, _AT_ONCE, strict=False):
            self.stack.dynamodb.batch_write_item(RequestItems={name: [*some]})

    def _items(self, name: str) -> Iterator[Any]:
        for page in self.stack.dynamodb.get_paginator("scan").paginate(TableName=name, ConsistentRead=True):
            yield from page["Items"]

    def _follow(self, old: str, new: str) -> None:
        """Recreate the event source mappings of a stream, as CloudFormation does when its ARN changes."""
        functions = self.stack.client("lambda")
        for mapping in functions.list_event_source_mappings(EventSourceArn=old)["EventSourceMappings"]:
            settings = {name: mapping[name] for name in _KEPT if name in mapping}
            functions.delete_event_source_mapping(UUID=mapping["UUID"])
            functions.create_event_source_mapping(
                EventSourceArn=new,
                FunctionName=mapping["FunctionArn"],
                StartingPosition=mapping["StartingPosition"],
                **settings,
            )


def _copy(name: str, moment: str) -> str:
    return f"{name}-{moment}"


def _key(item: Mapping[str, Any], names: Iterable[str]) -> str:
    return json.dumps({name: item[name] for name in names})
