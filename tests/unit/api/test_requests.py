"""Events of API Gateway, callers and their tenants, and requests that are refused before anything runs."""

import base64
import gzip
import json
from types import SimpleNamespace
from typing import Any

import pytest

from api import handlers
from api.answer import Problem
from api.document import Document
from api.request import MAX_BODY, Request, parse_event, read
from tests.kit.project import EVENTS, read_json

CONTEXT = SimpleNamespace(aws_request_id="request-1", get_remaining_time_in_millis=lambda: 15_000)
DOCUMENT = Document()


def event(name: str = "handle_request_show_task", **changed: Any) -> Any:
    return {**read_json(EVENTS[name]), **changed}


def authorized(given: Any, authorizer: Any) -> Any:
    return {**given, "requestContext": {**given["requestContext"], "authorizer": authorizer}}


def having(given: Any, **headers: str | None) -> Any:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return {**given, "headers": {k: v for k, v in {**given["headers"], **names}.items() if v is not None}}


def jwt(**claims: Any) -> Any:
    return {"jwt": {"claims": {"iss": "https://issuer.example", "sub": "user-1", **claims}, "scopes": []}}


def parsed(given: Any) -> Request:
    received = parse_event(given)
    operation = DOCUMENT.operation(received.route)
    assert operation is not None
    return read(operation, received)


def refused(given: Any, status: int) -> Any:
    with pytest.raises(Problem) as raised:
        parsed(given)
    assert raised.value.answer.status == status
    return raised.value.answer.body.get("errors")


def test_under_iam_the_header_names_the_tenant() -> None:
    assert parsed(event()).tenant_code == "tenant1"
    assert refused(having(event(), x_tenant_code=None), 400) == [{"parameter": "X-Tenant-Code", "detail": "required"}]
    assert refused(having(event(), x_tenant_code="a b"), 400)[0]["parameter"] == "X-Tenant-Code"


def test_under_jwt_the_claim_is_the_tenant_and_the_header_is_ignored() -> None:
    given = authorized(event(), jwt(tenant_code="tenant2"))

    assert parsed(given).tenant_code == "tenant2"
    assert parsed(having(given, x_tenant_code="!")).tenant_code == "tenant2"
    for claims in ({}, {"tenant_code": ""}, {"tenant_code": "a/b"}, {"tenant_code": "tenant1\n"}):
        assert refused(authorized(event(), jwt(**claims)), 403) is None


@pytest.mark.parametrize(
    "text", ["null", "None", "nil", "<nil>", "", "[]", "[a b]", "undefined", "NULL", "map[]", None, ["a"]]
)
def test_empty_claim_is_neither_a_tenant_nor_a_subject(text: Any) -> None:
    assert refused(authorized(event(), jwt(tenant_code=text)), 403) is None
    assert refused(authorized(event(), jwt(tenant_code="tenant1", sub=text)), 403) is None
    assert parsed(authorized(event(), jwt(tenant_code="t", sub=text, client_id="c"))).subject == "c"


@pytest.mark.parametrize(
    ("claims", "groups"),
    [
        ({"cognito:groups": "[reviewers pricing]"}, ["pricing", "reviewers"]),
        ({"groups": "[reviewers]"}, ["reviewers"]),
        ({"groups": "reviewers"}, ["reviewers"]),
        ({"groups": ["reviewers", "a b", 1]}, ["reviewers"]),
        ({"cognito:groups": "[a]", "groups": "[reviewers]"}, ["a"]),
        ({"cognito:groups": "[]", "groups": "[reviewers]"}, []),
        ({"groups": "a b"}, []),
        ({"groups": "a,b"}, []),
        ({"groups": "[nil null]"}, []),
        ({"groups": "map[a:b]"}, []),
        ({"groups": None}, []),
        ({"groups": {"reviewers": True}}, []),
        ({"group": "reviewers", "scope": "reviewers"}, []),
    ],
    ids=str,
)
def test_token_groups_are_parsed_strictly(claims: Any, groups: list[str]) -> None:
    assert sorted(parsed(authorized(event(), jwt(tenant_code="t", **claims))).groups) == groups
    assert parsed(event()).groups == frozenset()


@pytest.mark.parametrize("text", ["null", "undefined", "None"])
@pytest.mark.parametrize("name", ["X-Tenant-Code", "Idempotency-Key"])
def test_empty_header_is_rejected(name: str, text: str) -> None:
    given = event("handle_request_task")

    errors = refused(having(given, **{name.lower().replace("-", "_"): text}), 400)

    assert errors[0]["parameter"] == name


def test_orders_have_no_tenant() -> None:
    assert parsed(event("handle_request")).tenant_code == ""
    assert parsed(authorized(event("handle_request"), jwt())).tenant_code == ""


def test_without_an_authorizer_every_request_is_rejected() -> None:
    assert refused(authorized(event(), {}), 403) is None


def test_all_sessions_of_a_role_are_one_caller() -> None:
    first = parsed(event())
    other = authorized(event(), {"iam": {"callerId": "AROAEXAMPLE:other"}})
    another = authorized(event(), {"iam": {"callerId": "AROAOTHER:shop"}})

    assert parsed(other).digest == first.digest
    assert parsed(another).digest != first.digest


@pytest.mark.parametrize(
    ("body", "pointer", "detail"),
    [
        ("{", "#", "not JSON at line 1"),
        ("1", "#", "must be of type object"),
        ("9" * 5000, "#", "OutOfRange"),
        ('{"order_id": NaN}', "#/order_id", "NaN is not JSON"),
        ('{"order_id": 1e400}', "#/order_id", "must be of type string"),
        ('{"items": [{"sku": "a", "sku": "b"}]}', "#/items/0/sku", "repeated"),
        ("", "#", "empty"),
        ("[" * 100_000, "#", "nested deeper than 64 levels"),
        ("{}{}", "#", "more than one JSON document"),
        ("{} x", "#", "not JSON: more text after the document"),
        ('{"order_id": "\\ud800"}', "#/order_id", "half of a character"),
        (b'{"order_id": "\xff"}', "#", "not UTF-8 at byte 15"),
        (gzip.compress(b"{}"), "#", "compressed by gzip"),
        (gzip.compress(b"{}").decode(errors="replace"), "#", "compressed by gzip"),
        ("{}".encode("utf-16"), "#", "in UTF-16"),
        ("{}".encode("utf-16").decode(errors="replace"), "#", "in UTF-16"),
        ("{}".encode("utf-32-be"), "#", "in UTF-32"),
    ],
    ids=lambda one: repr(one)[:40],
)
def test_body_that_is_not_a_json_object_has_its_own_error(body: str | bytes, pointer: str, detail: str) -> None:
    """API Gateway delivers bytes in base64, or as text with a replacement for each invalid UTF-8 byte."""
    given = event("handle_request", body=body)
    if isinstance(body, bytes):
        given |= {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
    errors = [(error["pointer"], error["detail"][: len(detail)]) for error in refused(given, 400)]
    assert (pointer, detail) in errors


def test_byte_order_mark_is_ignored() -> None:
    given = event("handle_request")
    assert parsed({**given, "body": "\ufeff" + given["body"]}).body == json.loads(given["body"])


def test_body_is_limited_to_256_kib() -> None:
    text = json.dumps(read_json(EVENTS["handle_request"])["body"])

    assert refused(event("handle_request", body="x" * (MAX_BODY + 1)), 413) is None
    assert refused(event(body="x" * (MAX_BODY + 1)), 413) is None
    assert refused(event("handle_request", body=text + " " * (MAX_BODY - len(text))), 400)


def test_binary_body_is_accepted() -> None:
    given = event("handle_request")
    encoded = base64.b64encode(given["body"].encode()).decode()

    assert parsed({**given, "body": encoded, "isBase64Encoded": True}).body == json.loads(given["body"])
    assert refused({**given, "body": "%", "isBase64Encoded": True}, 400)


def test_other_content_type_is_rejected() -> None:
    assert refused(having(event("handle_request"), content_type="text/plain"), 415) is None
    assert parsed(having(event("handle_request"), content_type="Application/JSON; charset=utf-8")).body


def test_unknown_and_invalid_parameters_are_reported_together() -> None:
    given = event("handle_request_orders", queryStringParameters={"status": "Old", "limit": "x", "statsu": "New"})

    assert {one["parameter"] for one in refused(given, 400)} == {"status", "limit", "statsu"}


def test_key_may_still_be_url_encoded() -> None:
    given = event("handle_request_key")
    encoded = {name: value.replace("#", "%23") for name, value in given["pathParameters"].items()}

    assert parsed({**given, "pathParameters": encoded}).values == parsed(given).values


@pytest.mark.parametrize(
    ("route", "status"), [("PUT /orders", 405), ("GET /nothing", 404), ("POST /orders/", 404), ("GET /orders/", 404)]
)
def test_unknown_route_or_method_is_a_problem(route: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    method, _, path = route.partition(" ")
    given = event(routeKey="$default", rawPath=path)
    given["requestContext"]["http"] = {"method": method}
    monkeypatch.setattr(handlers, "environment", None)

    answer = handlers.handle_request(given, CONTEXT)
    assert (answer["statusCode"], answer["headers"]["content-type"]) == (status, "application/problem+json")
    assert answer["headers"].get("allow", "POST, GET") == "POST, GET"
