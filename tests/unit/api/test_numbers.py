"""Published and returned numbers are equal, from the body of a request to the body of a response."""

import hashlib
import io
import itertools
import json
from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api import calls, commands
from api.answer import Problem
from api.document import Document
from api.request import parse_event, read
from entities.errors import InvalidCommand
from tests.kit.commands import World, order
from tests.kit.project import EVENTS, read_json
from tests.unit.dynamodb import client

DOCUMENT = Document()
# Spellings in JSON.
SENT = [
    "12345678901234567890.5",
    "0.12345678901234567890",
    "9007199254740993.0",
    "9007199254740993",
    "1e20",
    "100000000000000000000",
    "-0.0",
    "0e5",
    "1e-7",
    "1E-130",
    "-9.9999999999999999999999999999999999999E+125",
    "0.1",
    "1.50",
    "1e23",
]
REFUSED = [
    "0.1e-400",
    "1e400",
    "1e126",
    "1E-131",
    f"0.{'1' * 39}",
    f"1{'0' * 37}1",
    "1e99999999999999999999",
    "9" * 5000,
]


HEADERS = {"content-type": "application/json", "x-tenant-code": "tenant1"}
COUNT = itertools.count()


class Functions:
    """A Lambda client that parses payloads as the runtime does: numbers become floats."""

    def __init__(self, world: World) -> None:
        self.world = world

    def invoke(self, *, Payload: str, **_: str) -> Any:
        try:
            body: Any = self.world.publish(json.loads(Payload))
        except InvalidCommand as error:
            failed = {"errorType": type(error).__name__, "errorMessage": str(error)}
            return {"FunctionError": "Unhandled", "Payload": io.BytesIO(json.dumps(failed).encode())}
        return {"Payload": io.BytesIO(json.dumps(body).encode())}


@pytest.fixture(scope="module")
def world() -> World:
    return World(client())


@pytest.fixture
def send(world: World, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Any]:
    """Send a request with this body. Returns the body of its response."""
    monkeypatch.setattr(calls, "single_try_client", lambda _: Functions(world))
    monkeypatch.setattr(commands, "dynamodb", lambda: world.client)
    tables = {f"{name}_table": getattr(world.tables, name) for name in ("commands", "gates", "data", "history")}
    own: Any = SimpleNamespace(publish_command_function="", **tables)

    def respond(name: str, body: str, **changed: Any) -> Any:
        event = {**read_json(EVENTS[name]), **changed, "body": body}
        received = parse_event(event)
        operation = DOCUMENT.operation(received.route)
        assert operation
        text = getattr(commands, operation.name)(read(operation, received), own).response["body"]
        return json.loads(text, parse_float=Decimal, parse_int=Decimal)

    return respond


def body(attributes: str, version: int | None, **changed: Any) -> str:
    sent = order(version, mode="sync", attributes=None, **changed)
    del sent["tenant_code"]
    return json.dumps(sent).replace('"attributes": null', f'"attributes": {attributes}')


def publish(send: Any, attributes: str, version: int | None, **changed: Any) -> Any:
    return send("handle_request", body(attributes, version, **changed), routeKey="POST /commands", headers=HEADERS)


def test_numbers_are_read_as_published(world: World, send: Any) -> None:
    values = ",".join(SENT)
    place = {"sk": "ORDER#numbers", "code": "numbers"}
    publish(send, f'{{"a": [{values}], "b": {{"c": 12345678901234567890.5}}}}', 1, **place)
    publish(send, f'{{"b": [{values}]}}', 2, merge=True, **place)
    parameters = {"pk": "TENANT#tenant1", "sk": "ORDER#numbers"}
    for at in (None, "1", "2"):
        query = {"queryStringParameters": {"at": at}} if at else {}
        found = send("handle_request_key", "", pathParameters=parameters, **query)["attributes"]
        assert found["a"] == list(map(Decimal, SENT))
    assert found["b"] == list(map(Decimal, SENT))


DIGITS = st.builds(
    lambda sign, digits, exponent: f"{sign}{digits}e{exponent}",
    st.sampled_from(["", "-"]),
    st.integers(0, 10**38 - 1) | st.integers(0, 2**54).map(lambda whole: f"{whole}.0") | st.integers(0, 99),
    st.integers(-80, 80),
)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(DIGITS, min_size=1, max_size=4))
def test_any_number_is_read_as_published(send: Any, numbers: list[str]) -> None:
    code = f"any{next(COUNT)}"
    publish(send, f'{{"a": [{",".join(numbers)}]}}', 1, sk=f"ORDER#{code}", code=code)
    found = send("handle_request_key", "", pathParameters={"pk": "TENANT#tenant1", "sk": f"ORDER#{code}"})
    assert found["attributes"]["a"] == list(map(Decimal, numbers))


@pytest.mark.parametrize("number", REFUSED, ids=lambda number: number[:20])
def test_number_that_dynamodb_cannot_hold_is_out_of_range(world: World, send: Any, number: str) -> None:
    before = world.everything()
    with pytest.raises(Problem) as raised:
        publish(send, f'{{"a": [1, {{"b": {number}}}]}}', 1, sk="ORDER#refused", code="refused")
    (error,) = raised.value.answer.body["errors"]
    assert (error["pointer"], error["detail"].partition(":")[0]) == ("#/attributes/a/1/b", "OutOfRange")
    assert world.everything() == before


@pytest.mark.parametrize(("version", "named"), [(1, {}), (None, {"request_id": "r-1"})])
def test_two_spellings_are_one_command(send: Any, version: int | None, named: dict[str, str]) -> None:
    place = {"sk": f"ORDER#spelled{version}", "code": f"spelled{version}", **named}
    first, again = '{"a": [1.0, 1e20, 0.10]}', '{"a": [1, 100000000000000000000, 1e-1]}'
    assert publish(send, first, version, **place)["status"] == "finished"
    assert publish(send, again, version, **place)["status"] == "duplicate"


@pytest.mark.parametrize(
    "number",
    ["1", "1.0", "1e20", "0.1", "12345678901234567890.5", "1e-7", "9007199254740994.0", "-12345678901234568.0"],
)
def test_command_of_an_older_release_is_a_duplicate(world: World, send: Any, number: str) -> None:
    """An older release hashes the floats that Lambda delivers, and converts whole ones up to 2**53 to integers."""
    sk = f"ORDER#old-{number.replace('.', '_')}"
    publish(send, f'{{"a": {number}}}', 1, sk=sk)
    (row,) = [row for row in world._all(world.tables.commands) if row["sk"]["S"] == f"{sk}@1"]
    value = float(number)
    older = order(attributes={"a": int(value) if value.is_integer() and abs(value) <= 2**53 else value}, sk=sk)
    fields = {**older, "deleted": False, "merge": False}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    assert row["payload_hash"]["S"] == hashlib.sha256(text.encode()).hexdigest()

    row.pop("payload_hash_v2", None)
    world.client.put_item(TableName=world.tables.commands, Item=row)
    assert publish(send, f'{{"a": {number}}}', 1, sk=sk)["status"] == "duplicate"
