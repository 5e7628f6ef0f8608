"""Possible DynamoDB, S3 and Step Functions responses to the requests about commands, the plain success first."""

import io
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from botocore.response import StreamingBody

from tests.kit.answer import Answer, Parameters, Refusal

_TABLES = frozenset({"CommandsTable", "DataTable", "GatesTable", "HistoryTable", "ProductsTable"})
_AT = {"S": "2026-11-21T09:00:00+00:00"}
_ATTRIBUTES = {"M": {"category": {"S": "tea"}, "price": {"N": "1500"}, "currency": {"S": "JPY"}}}
_TEXTS = {"id": "0c2d7a52", "code": "tea-01", "name": "Sencha", "type": "PRODUCT", "tenant_code": "tenant1"}
_FACTS = {"attributes": _ATTRIBUTES, "deleted": {"BOOL": False}}
_ENTITY = {**{name: {"S": text} for name, text in _TEXTS.items()}, **_FACTS}

# No product, and with a row that does not fit in the history.
_UNFIT = {**_ENTITY, "attributes": {"M": {"description": {"S": "x" * 410_000}}}}

_LAGGING = {"lagging": {"SS": ["catalog", "products"]}, "lagging_since": _AT}

type Item = Mapping[str, Any]
type Situation = tuple[int, int, bool]
"""A key at a request for version n: published and finished, both as a distance from n; and if n is dead."""

_TURN: Situation = (1, -1, False)
_SITUATIONS: list[Situation] = [_TURN, (0, -1, False), (1, -2, False), (0, 0, False), (0, -1, True), (1, -1, True)]


def concerns(named: set[str | None]) -> bool:
    """Returns True for a request about the tables of commands."""
    return bool(named & _TABLES)


def _item(table: str, key: Item, situation: Situation, version: int, entity: Item = _ENTITY) -> Item | None:
    """A row of a key in a situation. version: n."""
    published, finished, dead = situation
    done = max(version + finished, 0)
    if table == "GatesTable":
        numbers = {"published": version + published, "finished": done, "data_version": done}
        counts = {name: {"N": str(number)} for name, number in numbers.items()}
        marks = {"dead": {"NS": [str(version)]}} if dead else {}
        return {**key, **counts, **marks, "type": entity["type"], "pending_since": _AT}
    if table == "CommandsTable":
        numbers = {"version": {"N": str(version)}, "attempt": {"N": "1"}, "lifetime_days": {"N": "90"}}
        status = {"S": "finish:FINISHED" if finished == 0 else "wait_prev_command:STARTED"}
        own = {"mode": {"S": "async"}, "status": status, "tokens": {"SS": ["token"]}, "payload_hash": {"S": "-"}}
        return {**key, **entity, **numbers, **own, "merge": {"BOOL": False}, "created_at": _AT, "updated_at": _AT}
    if table == "ProductsTable":
        return {**key, "version": {"N": str(done)}, "category": {"S": "coffee"}}
    times = {"created_at": _AT, "updated_at": _AT, "mode": {"S": "async"}}
    return {**key, **entity, **times, "version": {"N": str(done)}} if done else None


def _version(key: Item) -> int:
    """The version that a key names, or that the sample events are about."""
    return int(key["sk"]["S"].partition("@")[2] or 1)


def batch(parameters: Parameters) -> Iterable[Answer]:
    wanted = [(table, key) for table, one in parameters["RequestItems"].items() for key in one["Keys"]]
    version = max(_version(key) for _, key in wanted)
    ways = [*((one, _ENTITY, {}) for one in _SITUATIONS), (_TURN, _UNFIT, {}), (_TURN, _ENTITY, _LAGGING)]
    for situation, entity, gate in ways:
        found = [(table, _item(table, key, situation, version, entity)) for table, key in wanted]
        found = [(table, {**item, **gate} if item and table == "GatesTable" else item) for table, item in found]
        yield {"Responses": {table: [item for one, item in found if item and one == table] for table, _ in wanted}}
    yield {"Responses": {}}


def transaction(parameters: Parameters) -> Iterable[Answer]:
    """Success; then each action refused for the row that it meets, or because there is none."""
    actions = [body for entry in parameters["TransactItems"] for body in entry.values()]
    yield {}
    for index, action in enumerate(actions):
        row = action.get("Item") or action["Key"]
        if "sk" not in row:
            continue
        key = {"pk": row["pk"], "sk": row["sk"]}
        for situation in (_TURN, (1, 1, False)):
            found = _item(action["TableName"], key, situation, _version(key))
            refused = {"Code": "ConditionalCheckFailed", **({"Item": found} if found else {})}
            reasons = [refused if number == index else {"Code": "None"} for number in range(len(actions))]
            yield Refusal("TransactionCanceledException", {"CancellationReasons": reasons})


def update(_: Parameters) -> Iterable[Answer]:
    yield {}
    yield Refusal("ConditionalCheckFailedException")


def scan(parameters: Parameters) -> Iterable[Answer]:
    """Keys that are pending or lag, in an index of the gates."""
    key = {"pk": {"S": "TENANT#tenant1"}, "sk": {"S": "PRODUCT#tea-01"}}
    yield {"Items": [_item(parameters["TableName"], key, _TURN, 1)]}
    yield {"Items": []}


def history(_: Parameters) -> Iterable[Answer]:
    """Old versions of a key."""
    yield {"Items": []}
    yield {"Items": [{"version": {"N": "1"}, "updated_at": {"S": "2026-11-20T09:00:00+00:00"}}]}


def catalog(_: Parameters) -> Iterable[Answer]:
    """The object of a product: an older version, none, a newer version."""
    for version in (1, 0, 9):
        content = json.dumps({"version": version}).encode()
        yield (
            {"Body": StreamingBody(io.BytesIO(content), len(content)), "ETag": '"e-1"'}
            if version
            else Refusal("NoSuchKey")
        )


def _woken(_: Parameters) -> Iterable[Answer]:
    yield {}
    yield Refusal("TaskTimedOut")


ANSWERS: dict[str, Callable[[Parameters], Iterable[Answer]]] = {"sfn:SendTaskSuccess": _woken}
