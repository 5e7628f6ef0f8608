"""One document describes the HTTP API: the stack has its routes, the function its operations, no route is open."""

import importlib
import json
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

from api.document import Document, Operation
from stepwise.deployment.openapi import DOCUMENT, STACK, rendered
from tests.kit.deployed_stack import Stack
from tests.kit.project import EVENTS, ROOT, read_json
from tests.kit.template import RESOURCES, TEMPLATE, of_type

GUIDE = (ROOT / "docs" / "http-api.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
MODULES = {
    "AWSRequest": AWSRequest,
    "SigV4Auth": SigV4Auth,
    "boto3": boto3,
    "json": json,
    "requests": requests,
    "time": time,
}
OPERATIONS = dict(Document().operations())
BODY = RESOURCES["HttpApi"]["Properties"]["Body"]
BUCKETS = of_type("AWS::S3::Bucket")
RULES = TEMPLATE["Rules"]
# Nothing that a caller sent, and no caller's name.
LOGGED = {"requestId", "requestTime", "routeKey", "status", "responseLength", "responseLatency", "integrationLatency"}
BELONGS_TO_THE_STACK = {"orders", "applications", "approvals"}
TOKENS = {"ApiJwtIssuer": "https://issuer.example", "ApiJwtAudience": "a,b"}
JWT = Stack(parameters=TOKENS)
ORIGINS = {"ApiCorsOrigins": "https://a.example,https://b.example"}

every_operation = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)


def routes(stack: Stack) -> dict[str, Any]:
    """Return the security of each route; None for an open route."""
    items = {path: item for path, item in stack.resolve(BODY)["paths"].items() if item}
    return {f"{method} {path}": one.get("security") for path, item in items.items() for method, one in item.items()}


def test_stack_has_the_documented_routes() -> None:
    assert rendered(STACK.read_text(), json.loads(DOCUMENT.read_bytes())) == STACK.read_text(), "run 'make api'"


@every_operation
def test_every_operation_has_a_function(operation: Operation) -> None:
    assert callable(getattr(importlib.import_module(f"api.{operation.module}"), operation.name))


def test_no_route_is_open() -> None:
    assert {json.dumps(one) for one in routes(Stack()).values()} == {'[{"sigv4": []}]'}


def test_under_jwt_every_route_requires_its_contexts_scope() -> None:
    found = routes(JWT)

    assert found.pop("x-amazon-apigateway-any-method $default") == [{"jwt": []}]
    assert found == {
        f"{key.split(' ')[0].lower()} {key.split(' ')[1]}": [{"jwt": [operation.module]}]
        for key, operation in OPERATIONS.items()
    }


@every_operation
def test_everything_but_stack_wide_resources_has_a_tenant(operation: Operation) -> None:
    assert operation.for_tenants == (operation.module not in BELONGS_TO_THE_STACK)


@every_operation
def test_every_post_accepts_an_idempotency_key(operation: Operation) -> None:
    names = {one["name"] for one in operation.parameters}

    assert ("Idempotency-Key" in names) == (operation.body is not None)


@pytest.mark.parametrize("given", [{}, TOKENS], ids=["sigv4", "jwt"])
def test_cors_adds_an_open_options_route(given: dict[str, str]) -> None:
    """A preflight has no credentials, so `$default` would reject it. CORS changes nothing but this route."""
    usual = routes(Stack(parameters=given))

    assert routes(Stack(parameters=given | ORIGINS)) == {**usual, "options /{proxy+}": None}
    assert None not in usual.values()
    assert "x-amazon-apigateway-integration" in Stack(parameters=ORIGINS).resolve(BODY)["paths"]["/{proxy+}"]["options"]


@pytest.mark.parametrize(("parameter", "required"), [tuple(TOKENS), tuple(TOKENS)[::-1]])
def test_issuer_and_audience_require_each_other(parameter: str, required: str) -> None:
    def given(name: str) -> Any:
        return {"Fn::Not": [{"Fn::Equals": [{"Ref": name}, ""]}]}

    rules = [(rule["RuleCondition"], [one["Assert"] for one in rule["Assertions"]]) for rule in RULES.values()]
    assert (given(parameter), [given(required)]) in rules


@pytest.mark.parametrize(
    ("issuer", "allowed"),
    [
        ("", True),
        ("https://cognito-idp.us-east-1.amazonaws.com/us-east-1_abc", True),
        ("http://127.0.0.1:4001", True),
        ("http://issuer.example", False),
        ("http://127.0.0.1.evil.example", False),
        ("https://", False),
        ("issuer.example", False),
    ],
)
def test_issuer_is_a_url_that_api_gateway_accepts(issuer: str, allowed: bool) -> None:
    assert bool(re.fullmatch(TEMPLATE["Parameters"]["ApiJwtIssuer"]["AllowedPattern"], issuer)) == allowed


def test_listed_origins_may_use_each_link() -> None:
    """Each bucket with presigned links has CORS rules for their methods, but none without ApiCorsOrigins."""
    code = (ROOT / "functions" / "api" / "imports.py").read_text()
    methods = {operation.partition("_")[0].upper() for operation in re.findall(r'_link\("(\w+)"', code)}
    signing = [path for path in (ROOT / "functions").rglob("*.py") if "generate_presigned" in path.read_text()]
    rules = Stack(parameters=ORIGINS).resolve(BUCKETS["ImportsBucket"])["CorsConfiguration"]["CorsRules"]

    assert [path.stem for path in signing] == ["imports"]
    assert {method: rule["AllowedOrigins"] for rule in rules for method in rule["AllowedMethods"]} == {
        "PUT": ORIGINS["ApiCorsOrigins"].split(","),
        "GET": ["*"],
    }
    assert methods == {"PUT", "GET"}
    assert [name for name in BUCKETS if Stack().resolve(BUCKETS[name]).get("CorsConfiguration")] == []
    assert all(rule["ExposedHeaders"] and rule["MaxAge"] for rule in rules)


def test_only_listed_origins_may_call_the_api() -> None:
    named = Stack(parameters=ORIGINS).resolve(BODY)

    assert not Stack().resolve(BODY).get("x-amazon-apigateway-cors")
    assert named["x-amazon-apigateway-cors"]["allowOrigins"] == ["https://a.example", "https://b.example"]


def test_access_log_has_no_body_token_or_name() -> None:
    text = RESOURCES["HttpApiStage"]["Properties"]["AccessLogSettings"]["Format"]

    assert json.loads(text)
    assert set(re.findall(r"\$context\.([\w.]+)", text)) == LOGGED | {"error.responseType"}


def test_requests_are_throttled() -> None:
    settings = RESOURCES["HttpApiStage"]["Properties"]["DefaultRouteSettings"]

    assert settings["ThrottlingRateLimit"] == settings["ThrottlingBurstLimit"] == {"Ref": "ApiRequestRate"}


def test_route_metrics_are_off() -> None:
    assert RESOURCES["HttpApiStage"]["Properties"]["DefaultRouteSettings"]["DetailedMetricsEnabled"] is False


def test_guide_lists_every_route() -> None:
    assert [key for key in OPERATIONS if f"`{key}`" not in GUIDE] == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_guide_examples_match_the_document(example: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sent: list[Any] = []

    def answered(_: requests.Session, request: requests.PreparedRequest, **__: Any) -> requests.Response:
        sent.append(request)
        answer = requests.Response()
        answer.headers["Location"] = "/imports/i-1"
        answer._content = (
            b'{"key": "uploads/tenant1/a/products.csv", "upload_url": "https://s3.example", "waits_for": null}'
        )
        return answer

    monkeypatch.setattr(requests.Session, "send", answered)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.chdir(tmp_path)
    Path("products.csv").touch()
    command = {**read_json(EVENTS["publish_command"])}
    del command["tenant_code"]
    given = {"url": "https://api.example", "token": "t", "region": "us-east-1", "command": command}
    exec(example, MODULES | given)  # noqa: S102

    posts = [request for request in sent if request.method == "POST"]
    assert posts
    for post in posts:
        operation = OPERATIONS[f"POST {urlsplit(post.url).path}"]
        assert list(operation.document.schemas.violations(operation.body or {}, json.loads(post.body))) == []
        assert {"Authorization", "Idempotency-Key"} <= set(post.headers)
        assert "X-Tenant-Code" in post.headers or post.headers["Authorization"].startswith("Bearer ")
