"""Amazon Connect's simulator: requests that boto3 would not send, and constraints of the service model."""

import http.client
import json

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel

from stepwise.local.simulators.connect.protocol import violations
from tests.kit.connect_simulator import Connect, Document

MODEL = ServiceModel(Loader().load_service_model("connect", "service-2"))


def send(connect: Connect, method: str, path: str, body: bytes = b"") -> tuple[int, str | None, Document]:
    """Send a request. Returns the response's status, error code and body."""
    connection = http.client.HTTPConnection(*connect.server.server_address, timeout=60)
    connection.request(method, path, body)
    answer = connection.getresponse()
    read = answer.status, answer.headers["x-amzn-ErrorType"], json.loads(answer.read() or b"{}")
    connection.close()
    return read


def test_request_error_lists_every_missing_parameter(connect: Connect) -> None:
    status, code, body = send(connect, "PUT", "/users/i-1", b"{}")
    assert (status, code) == (400, "InvalidParameterException")
    for name in ("Username", "SecurityProfileIds", "RoutingProfileId"):
        assert name in body["Message"]


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b"\xff"])
def test_body_that_is_not_a_json_object_is_rejected(connect: Connect, body: bytes) -> None:
    assert send(connect, "PUT", "/instance", body)[:2] == (400, "InvalidRequestException")


@pytest.mark.parametrize(
    "body",
    [{"Username": 7}, {"Tags": []}, {"SecurityProfileIds": "p"}, {"PhoneConfig": {"AutoAccept": "yes"}}, {"Shoe": 9}],
    ids=repr,
)
def test_member_with_wrong_type_is_rejected_by_name(connect: Connect, body: Document) -> None:
    right = {"Username": "a", "SecurityProfileIds": ["p"], "RoutingProfileId": "r"}
    status, code, answer = send(connect, "PUT", "/users/i-1", json.dumps(right | body).encode())
    assert (status, code) == (400, "InvalidParameterException")
    assert next(iter(body)) in answer["Message"]


@pytest.mark.parametrize("query", ["maxResults=0", "maxResults=1001", "maxResults=many"])
def test_query_is_validated_like_a_body(connect: Connect, query: str) -> None:
    assert send(connect, "GET", f"/users-summary/i-1?{query}")[:2] == (400, "InvalidParameterException")


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("POST", "/instance"), ("GET", "/no/such/path")])
def test_unknown_operation_is_not_found(connect: Connect, method: str, path: str) -> None:
    assert send(connect, method, path)[:2] == (404, "UnknownOperationException")


def test_path_is_decoded(connect: Connect) -> None:
    assert send(connect, "GET", "/instance/i%2F1%C3%BC")[2]["Message"] == "the instance i/1ü was not found"


def test_control_path_has_no_other_route(connect: Connect) -> None:
    assert send(connect, "GET", "/_simulator/health")[0] == 200
    assert send(connect, "GET", "/_simulator/elsewhere")[0] == 404
    assert send(connect, "PATCH", "/_simulator/settings", b"[]")[0] == 400


# --- constraints ---


def test_every_pattern_of_the_model_can_be_parsed() -> None:
    shapes = [MODEL.shape_for(name) for name in MODEL.shape_names]
    patterned = [shape for shape in shapes if "pattern" in shape.metadata]
    assert len(patterned) > 50
    for shape in patterned:
        list(violations("a", shape, "it"))
