"""The DynamoDB of a run: MiniStack's, or AWS's own emulator, DynamoDB Local."""

import http.client
import itertools
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from ministack.services import dynamodb

from tests.faults.seams import DYNAMODB_ENDPOINT, Document, in_process
from tests.kit.engines.in_process import Answer, copied, replace

# MiniStack's dispatcher builds a table of all operations for each request.
_HANDLERS = {
    "BatchGetItem": "_batch_get_item",
    "DeleteItem": "_delete_item",
    "GetItem": "_get_item",
    "PutItem": "_put_item",
    "Query": "_query",
    "Scan": "_scan",
    "TransactGetItems": "_transact_get_items",
    "TransactWriteItems": "_transact_write_items",
    "UpdateItem": "_update_item",
}
_HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": "AWS4-HMAC-SHA256 Credential=test/20261122/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host, Signature=none",
}
_WRITES = {"DeleteItem", "UpdateItem"}
# MiniStack keeps the objects that it is given.
_STORES = {"PutItem", "TransactWriteItems", "UpdateItem"}
_BATCH = 25


class Database(Protocol):
    def create(self, table: Document) -> None: ...

    def start(self) -> None: ...

    def execute(self, operation: str, parameters: Document) -> Answer: ...

    def clear(self, tables: list[str]) -> None: ...


def database() -> Database:
    """Return the database that the environment names."""
    endpoint = os.environ.get(DYNAMODB_ENDPOINT)
    return DynamoDBLocal(endpoint) if endpoint else MiniStack()


def row_by_row(
    database: Database,
    parameters: Document,
    pause: Callable[[], None],
    shuffle: Callable[[list[Any]], None] = lambda _: None,
) -> Answer:
    """Answer a BatchGetItem that is no snapshot. pause: called after each row. shuffle: the rows' order."""
    rows = [(table, wanted, key) for table, wanted in parameters["RequestItems"].items() for key in wanted["Keys"]]
    shuffle(rows)
    found: dict[str, list[Document]] = {}
    for table, wanted, key in rows:
        one = {"RequestItems": {table: {**wanted, "Keys": [key]}}}
        status, headers, answer = database.execute("BatchGetItem", one)
        if status != 200:
            return status, headers, answer
        document: Document = answer if isinstance(answer, dict) else json.loads(answer)
        found.setdefault(table, []).extend(document["Responses"].get(table, []))
        pause()
    return 200, {}, {"Responses": found, "UnprocessedKeys": {}}  # type: ignore[return-value]


class MiniStack:
    """MiniStack's DynamoDB, in this process."""

    def create(self, table: Document) -> None:
        in_process("CreateTable", table)

    def start(self) -> None:
        """Stop serializing responses from here on."""
        replace(dynamodb, "json_response", _unserialized)

    def execute(self, operation: str, parameters: Document) -> Answer:
        """Execute a request; returns a document unless it is an error."""
        handler: Callable[[Document], Answer] = getattr(dynamodb, _HANDLERS[operation])
        return handler(_sent(parameters) if operation in _STORES else parameters)

    def clear(self, tables: list[str]) -> None:
        for table in tables:
            kept = dynamodb._tables[table]
            kept["items"].clear()
            # Which rows are in an index.
            kept.pop(dynamodb._INDEX_MEMBERS, None)


@dataclass
class DynamoDBLocal:
    """DynamoDB Local, over HTTP.

    The changes of a write are read and passed to MiniStack's streams, which deliver the records.
    """

    endpoint: str
    _rows: dict[str, dict[str, Document]] = field(default_factory=lambda: defaultdict(dict))
    _keys: dict[str, list[str]] = field(default_factory=dict)
    _runs: Iterator[int] = field(default_factory=itertools.count)
    _run: int = 0

    def __post_init__(self) -> None:
        self._connection = http.client.HTTPConnection(str(urlsplit(self.endpoint).netloc))

    def create(self, table: Document) -> None:
        in_process("CreateTable", table)
        self._keys[table["TableName"]] = [key["AttributeName"] for key in table["KeySchema"]]
        status, answer = self._post("CreateTable", table)
        if status != 200:
            raise RuntimeError(answer)

    def start(self) -> None:
        pass

    def execute(self, operation: str, parameters: Document) -> Answer:
        # DynamoDB Local remembers tokens for longer than a run takes.
        if "ClientRequestToken" in parameters:
            token = f"{os.getpid()}-{self._run}-{parameters['ClientRequestToken']}"
            parameters = {**parameters, "ClientRequestToken": token}
        status, answer = self._post(operation, parameters)
        if status == 200:
            self._tell(list(_written(operation, parameters)))
        return status, {}, json.loads(answer) if status == 200 else answer  # type: ignore[return-value]

    def clear(self, tables: list[str]) -> None:
        MiniStack().clear(tables)
        self._run = next(self._runs)
        for table in tables:
            for batch in itertools.batched(self._rows.pop(table, {}).values(), _BATCH, strict=False):
                deletes = [{"DeleteRequest": {"Key": self._key(table, row)}} for row in batch]
                self._post("BatchWriteItem", {"RequestItems": {table: deletes}})

    def _tell(self, written: list[tuple[str, Document]]) -> None:
        for table, row in written:
            key = self._key(table, row)
            request = {"TableName": table, "Key": key, "ConsistentRead": True}
            new = _sorted(json.loads(self._post("GetItem", request)[1]).get("Item"))
            old = self._rows[table].pop(json.dumps(key), None)
            if new:
                self._rows[table][json.dumps(key)] = new
            if old != new:
                event = "MODIFY" if old and new else "INSERT" if new else "REMOVE"
                dynamodb._emit_stream_event(table, event, old, new)

    def _key(self, table: str, row: Document) -> Document:
        return {name: row[name] for name in self._keys[table]}

    def _post(self, operation: str, parameters: Document) -> tuple[int, bytes]:
        headers = {**_HEADERS, "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        self._connection.request("POST", "/", json.dumps(parameters), headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()


def _written(operation: str, parameters: Document) -> Iterator[tuple[str, Document]]:
    """Yield the writes of a request: table, and key or row."""
    if operation in _WRITES:
        yield parameters["TableName"], parameters["Key"]
    if operation == "PutItem":
        yield parameters["TableName"], parameters["Item"]
    for action in parameters.get("TransactItems", ()):
        for kind, write in action.items():
            if kind != "ConditionCheck":
                yield write["TableName"], write.get("Item") or write["Key"]


def _sorted(row: Document | None) -> Document | None:
    """Return the row with its sets sorted."""
    if row is None:
        return None
    return {
        name: {kind: sorted(held) if kind in {"SS", "NS"} else held for kind, held in value.items()}
        for name, value in row.items()
    }


def _sent(parameters: Document) -> Document:
    """Convert parameters to their form on the wire: a str in place of a StrEnum."""
    try:
        sent: Document = copied(parameters)
    except ValueError:
        sent = json.loads(json.dumps(parameters))
    return sent


def _unserialized(answer: Any, status: int = 200) -> Answer:
    return status, {}, copied(answer)
