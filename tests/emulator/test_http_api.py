"""HTTP APIs that SAM creates from events, also in a nested stack: the patches `http_api` and `nested_stacks`.

What AWS documents is quoted from the API Gateway developer guide: [routes] http-api-develop-routes, [cors]
http-api-cors, [jwt] http-api-jwt-authorizer, [format] http-api-develop-integrations-lambda; and from its model [model].
"""

import http.client
import json
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from tests.kit.deployed_stack import Stack
from tests.kit.injection import eventually
from tests.kit.ministack import Account, still_there
from tests.kit.template import of_type

pytestmark = pytest.mark.local_only("are about the local stack itself")

ECHO = """
import json

def handler(event, context):
    headers = {"content-type": "application/json", "access-control-allow-origin": "https://backend.example"}
    return {"statusCode": 200, "headers": headers, "body": json.dumps(event)}
"""
AUTHORIZE = """
def handler(event, context):
    return {"isAuthorized": event["headers"]["x-key"] == "open", "context": {"who": "a-7"}}
"""
SCOPE = "aws.cognito.signin.user.admin"
PASSWORD = "Passw0rd!"
SHOP, LOCAL, EVIL = "https://shop.example", "http://localhost:3000", "https://evil.example"


def function(source: str, **events: Any) -> Any:
    properties = {"Runtime": "python3.13", "Handler": "index.handler", "InlineCode": source, "Events": events}
    return {"Type": "AWS::Serverless::Function", "Properties": properties}


def event(path: str, method: str, **more: Any) -> Any:
    return {"Type": "HttpApi", "Properties": {"ApiId": {"Ref": "Api"}, "Path": path, "Method": method, **more}}


def template(resources: Any, api: str = "Api") -> Any:
    outputs = {"Api": {"Value": {"Ref": api}}}
    return {"Transform": "AWS::Serverless-2016-10-31", "Resources": resources, "Outputs": outputs}


def guarded(issuer: str, audience: str) -> Any:
    """A template with routes of every kind behind a JWT authorizer, unless they say otherwise."""
    jwt = {"IdentitySource": "$request.header.Authorization"}
    jwt |= {"JwtConfiguration": {"issuer": issuer, "audience": [audience]}}
    key = {"FunctionArn": {"Fn::GetAtt": ["Authorizer", "Arn"]}, "AuthorizerPayloadFormatVersion": "2.0"}
    key |= {"EnableSimpleResponses": True, "Identity": {"Headers": ["x-key"], "ReauthorizeEvery": 0}}
    api = {
        "Name": "shop",
        "CorsConfiguration": {
            "AllowOrigins": [SHOP, "http://*"],
            "AllowMethods": ["GET", "POST"],
            "AllowHeaders": ["authorization"],
            "MaxAge": 600,
        },
        "Auth": {"DefaultAuthorizer": "Jwt", "Authorizers": {"Jwt": jwt, "Key": key}},
    }
    none = {"Auth": {"Authorizer": "NONE"}}
    echo = function(
        ECHO,
        One=event("/orders/{id}", "get", **none),
        Last=event("/orders/last", "get", **none),
        Greedy=event("/orders/{proxy+}", "any", **none),
        Post=event("/orders", "post", **none),
        Rest={"Type": "HttpApi", "Properties": {"ApiId": {"Ref": "Api"}, **none}},
        Jwt=event("/jwt", "get"),
        Scoped=event("/scoped", "get", Auth={"Authorizer": "Jwt", "AuthorizationScopes": [SCOPE]}),
        Key=event("/key", "get", Auth={"Authorizer": "Key"}),
    )
    shop = {"Type": "AWS::Serverless::HttpApi", "Properties": api}
    return template({"Api": shop, "Echo": echo, "Authorizer": function(AUTHORIZE)})


def shut(*opened: str) -> Any:
    """Build a template with CORS and an authorizing `$default` route. opened: paths with an open OPTIONS route."""
    jwt = {"IdentitySource": "$request.header.Authorization"}
    jwt |= {"JwtConfiguration": {"issuer": "https://issuer.example", "audience": ["a"]}}
    auth = {"DefaultAuthorizer": "Jwt", "Authorizers": {"Jwt": jwt}}
    api = {"CorsConfiguration": {"AllowOrigins": [SHOP], "AllowMethods": ["GET"]}, "Auth": auth}
    rest = {"Type": "HttpApi", "Properties": {"ApiId": {"Ref": "Api"}}}
    preflights = {
        f"Open{number}": event(path, "options", Auth={"Authorizer": "NONE"}) for number, path in enumerate(opened)
    }
    resources = {"Api": {"Type": "AWS::Serverless::HttpApi", "Properties": api}}
    return template(resources | {"Echo": function(ECHO, Rest=rest, One=event("/orders", "get"), **preflights)})


def small(path: str) -> Any:
    """A template with one route of an API that SAM adds by itself."""
    got = {"Type": "HttpApi", "Properties": {"Path": path, "Method": "get"}}
    return template({"Echo": function(ECHO, Get=got)}, "ServerlessHttpApi")


@dataclass(frozen=True)
class Api:
    account: Account
    name: str
    tokens: dict[str, str] = field(default_factory=dict)

    def send(self, method: str, path: str, headers: dict[str, str], body: str | None = None) -> tuple[int, Any, Any]:
        """Send a request. Returns the status, the headers and the body. A header may name a token."""
        port = urlsplit(self.account.endpoint).port
        sent = {"Host": f"{self.name}.execute-api.localhost:{port}"}
        sent |= {name: value.format(**self.tokens) for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            text = answer.read().decode()
            return answer.status, {name.lower(): one for name, one in answer.getheaders()}, json.loads(text or "null")
        finally:
            connection.close()


def deploy(account: Account, document: Any, name: str = "") -> dict[str, str]:
    """Create a stack, or update the one of this name. Returns its outputs."""
    cloud = account.client("cloudformation")
    act = cloud.update_stack if name else cloud.create_stack
    name = name or f"s-{uuid.uuid4().hex[:12]}"
    body, allowed = json.dumps(document), ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
    act(StackName=name, TemplateBody=body, Capabilities=allowed)

    def stack() -> Any:
        return cloud.describe_stacks(StackName=name)["Stacks"][0]

    eventually(lambda: not stack()["StackStatus"].endswith("_IN_PROGRESS"), seconds=300)
    events = cloud.describe_stack_events(StackName=name)["StackEvents"]
    assert stack()["StackStatus"] in {"CREATE_COMPLETE", "UPDATE_COMPLETE"}, [
        event["ResourceStatusReason"] for event in events if event["ResourceStatus"] == "CREATE_FAILED"
    ]
    return {"Stack": name} | {output["OutputKey"]: output["OutputValue"] for output in stack().get("Outputs", [])}


@pytest.fixture(scope="module")
def shop(ours: Account) -> Api:
    """An API with a user of its pool, who has signed in."""
    cognito = ours.client("cognito-idp")
    pool = cognito.create_user_pool(PoolName="shop")["UserPool"]["Id"]
    flows = ["ALLOW_USER_PASSWORD_AUTH"]
    client = cognito.create_user_pool_client(UserPoolId=pool, ClientName="shop", ExplicitAuthFlows=flows)
    audience = client["UserPoolClient"]["ClientId"]
    cognito.admin_create_user(UserPoolId=pool, Username="ann")
    cognito.admin_set_user_password(UserPoolId=pool, Username="ann", Password=PASSWORD, Permanent=True)
    signed = cognito.initiate_auth(
        AuthFlow="USER_PASSWORD_AUTH", ClientId=audience, AuthParameters={"USERNAME": "ann", "PASSWORD": PASSWORD}
    )["AuthenticationResult"]
    made = deploy(ours, guarded(f"https://cognito-idp.us-east-1.amazonaws.com/{pool}", audience))
    return Api(ours, made["Api"], {"id": signed["IdToken"], "access": signed["AccessToken"]})


def nested(account: Account, path: str) -> Any:
    """A template whose child contains the small one."""
    s3, name = account.client("s3"), f"b-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=name)
    s3.put_object(Bucket=name, Key="child.json", Body=json.dumps(small(path)))
    child = {
        "Type": "AWS::CloudFormation::Stack",
        "Properties": {"TemplateURL": f"https://s3.amazonaws.com/{name}/child.json"},
    }
    outputs = {"Api": {"Value": {"Fn::GetAtt": ["Child", "Outputs.Api"]}}}
    return {"Resources": {"Child": child}, "Outputs": outputs}


# --- MiniStack as it comes ---


def test_ministack_still_returns_an_address_some_resolvers_do_not_know(upstream: Account) -> None:
    api = deploy(upstream, small("/here"))["Api"]
    address = upstream.client("apigatewayv2").get_api(ApiId=api)["ApiEndpoint"]
    assert ".execute-api.localhost:" in address, still_there("http_api", "the address of an API")


def test_ministack_still_drops_routes_of_sam_events(upstream: Account) -> None:
    api = deploy(upstream, small("/here"))["Api"]
    assert upstream.client("apigatewayv2").get_routes(ApiId=api)["Items"] == [], still_there(
        "http_api", "routes of an OpenAPI body"
    )


def test_ministack_still_leaves_nested_templates_untransformed(upstream: Account) -> None:
    with pytest.raises(AssertionError, match="AWS::Serverless"):
        deploy(upstream, nested(upstream, "/here"))


def test_ministack_still_responds_to_a_preflight_under_an_authorizing_default_route(upstream: Account) -> None:
    jwt = upstream.client("apigatewayv2")
    cors = {"AllowOrigins": [SHOP], "AllowMethods": ["GET"]}
    api = jwt.create_api(Name="shut", ProtocolType="HTTP", CorsConfiguration=cors)["ApiId"]
    jwt.create_route(ApiId=api, RouteKey="$default", AuthorizationType="AWS_IAM")
    status, *_ = Api(upstream, api).send("OPTIONS", "/orders", {"Origin": SHOP})
    assert status == 204, still_there("http_api", "preflights under an authorizing $default route")


# --- ours ---


@dataclass(frozen=True)
class Case:
    """A request and its expected response. source: AWS's sentence. found: members of the body, by their path."""

    source: str
    method: str
    path: str
    status: int
    found: dict[str, Any] = field(default_factory=dict)
    sent: dict[str, str] = field(default_factory=dict)
    answered: dict[str, str | None] = field(default_factory=dict)


FULL = "[routes] 1. Full match for a route and method."
GREEDY = "[routes] 2. Match for a route and method with a greedy path variable ({proxy+})."
REST = "[routes] 3. The $default route."
PREFLIGHT = (
    "[cors] If you configure CORS for an API, API Gateway automatically sends a response to preflight OPTIONS requests,"
    " even if there isn't an OPTIONS route configured for your API."
)
ADDS = "[cors] For a CORS request, API Gateway adds the configured CORS headers to the response from an integration."
PREFIX = "[cors] http://* (allow any origin that begins with http://)"
CLAIMS = "[jwt] After validating the JWT, API Gateway passes the claims in the token to the API route's integration."
DENIES = "[jwt] If any of these steps fail, API Gateway denies the API request."
SCOPES = "[jwt] scope or scp: The token must include at least one of the scopes in the route's authorizationScopes."
SIMPLE = "[model, EnableSimpleResponses] The Lambda authorizer can return a boolean value instead of an IAM policy."
COMBINED = "[format] Duplicate query strings are combined with commas and included in the queryStringParameters field."
ALLOW_ORIGIN, BEARER = "access-control-allow-origin", "Bearer {id}"

CASES = {
    "path parameter": Case(
        FULL, "GET", "/orders/7", 200, {"routeKey": "GET /orders/{id}", "pathParameters": {"id": "7"}}
    ),
    "static before parameter": Case(FULL, "GET", "/orders/last", 200, {"routeKey": "GET /orders/last"}),
    "method": Case(FULL, "POST", "/orders", 200, {"routeKey": "POST /orders", "requestContext.http.method": "POST"}),
    "greedy": Case(GREEDY, "GET", "/orders/7/lines/2", 200, {"pathParameters": {"proxy": "7/lines/2"}}),
    "any method": Case(GREEDY, "DELETE", "/orders/7", 200, {"routeKey": "ANY /orders/{proxy+}"}),
    "default": Case(REST, "GET", "/else", 200, {"routeKey": "$default", "rawPath": "/else"}),
    "format 2.0": Case(
        COMBINED, "GET", "/else?a=1&a=2", 200, {"version": "2.0", "queryStringParameters": {"a": "1,2"}}
    ),
    "preflight": Case(
        PREFLIGHT, "OPTIONS", "/jwt", 204, {}, {"Origin": SHOP}, {ALLOW_ORIGIN: SHOP, "access-control-max-age": "600"}
    ),
    "preflight of another origin": Case(PREFLIGHT, "OPTIONS", "/jwt", 403, {}, {"Origin": EVIL}, {ALLOW_ORIGIN: None}),
    "cors headers": Case(ADDS, "GET", "/else", 200, {}, {"Origin": SHOP}, {ALLOW_ORIGIN: SHOP}),
    "origin by its scheme": Case(PREFIX, "GET", "/else", 200, {}, {"Origin": LOCAL}, {ALLOW_ORIGIN: LOCAL}),
    "cors headers of the function": Case(
        "[cors] API Gateway ignores CORS headers returned from your backend integration.",
        "GET",
        "/else",
        200,
        {},
        {"Origin": EVIL},
        {ALLOW_ORIGIN: None},
    ),
    "no token": Case(DENIES, "GET", "/jwt", 401, {"message": "Unauthorized"}),
    "forged token": Case(DENIES, "GET", "/jwt", 401, {}, {"Authorization": BEARER + "x"}),
    "claims": Case(
        CLAIMS,
        "GET",
        "/jwt",
        200,
        {"requestContext.authorizer.jwt.claims.cognito:username": "ann"},
        {"Authorization": BEARER},
    ),
    "scope": Case(SCOPES, "GET", "/scoped", 200, {}, {"Authorization": "Bearer {access}"}),
    "no scope": Case(SCOPES, "GET", "/scoped", 403, {"message": "Forbidden"}, {"Authorization": BEARER}),
    "authorizer allows": Case(
        SIMPLE, "GET", "/key", 200, {"requestContext.authorizer.lambda": {"who": "a-7"}}, {"x-key": "open"}
    ),
    "authorizer denies": Case(SIMPLE, "GET", "/key", 403, {"message": "Forbidden"}, {"x-key": "shut"}),
}


def member(body: Any, path: str) -> Any:
    for name in path.split("."):
        body = body[name]
    return body


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_api_of_sam_events_answers_as_on_aws(shop: Api, case: Case) -> None:
    status, headers, body = shop.send(case.method, case.path, case.sent)
    assert status == case.status, body
    assert {path: member(body, path) for path in case.found} == case.found
    assert {name: headers.get(name) for name in case.answered} == case.answered


# "The $default route catches requests for all methods and routes that you haven't explicitly defined, including OPTIONS
# requests. To support unauthorized OPTIONS requests to your $default route, add an OPTIONS /{proxy+} route that doesn't
# require authorization and attach an integration". [cors]
def test_preflight_under_an_authorizing_default_route_needs_an_open_options_route(ours: Account) -> None:
    def preflight(path: str, *opened: str) -> tuple[int, Any]:
        status, headers, _ = Api(ours, deploy(ours, shut(*opened))["Api"]).send("OPTIONS", path, {"Origin": SHOP})
        return status, headers.get(ALLOW_ORIGIN)

    assert preflight("/orders") == (401, None)
    assert preflight("/orders", "/{proxy+}") == (204, SHOP)
    assert preflight("/orders/7", "/{proxy+}") == (204, SHOP)
    assert preflight("/orders/7", "/orders") == (401, None)


# "When Amazon S3 receives a preflight request from a browser, it evaluates the CORS configuration for the bucket and
# uses the first CORSRule rule that matches". (S3 user guide, Using cross-origin resource sharing)
@pytest.mark.parametrize(
    ("origin", "method", "allowed"),
    [(SHOP, "PUT", SHOP), (EVIL, "PUT", None), (SHOP, "GET", "*"), ("null", "GET", "*"), (SHOP, "DELETE", None)],
)
def test_pages_may_use_the_links_of_imports(ours: Account, origin: str, method: str, allowed: str | None) -> None:
    """A page uploads by a link, and reads results through a redirect of the API, which makes its origin "null"."""
    cors = Stack(parameters={"ApiCorsOrigins": SHOP}).resolve(of_type("AWS::S3::Bucket")["ImportsBucket"])
    bucket = {"Type": "AWS::S3::Bucket", "Properties": {"CorsConfiguration": cors["CorsConfiguration"]}}
    name = deploy(ours, {"Resources": {"Bucket": bucket}, "Outputs": {"Api": {"Value": {"Ref": "Bucket"}}}})["Api"]
    asked = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": "content-type,x-tenant-code"}

    answer = requests.options(f"{ours.endpoint}/{name}/uploads/a.csv", headers={"Origin": origin, **asked}, timeout=20)

    assert answer.headers.get("Access-Control-Allow-Origin") == allowed
    assert answer.status_code == (200 if allowed else 403)


# "Update requires: No interruption" of Body (CloudFormation, AWS::ApiGatewayV2::Api); "If no routes match a request,
# API Gateway returns {"message":"Not Found"} to the client." [routes]
def test_update_replaces_the_routes_of_the_body(ours: Account) -> None:
    made = deploy(ours, small("/before"))
    again = deploy(ours, small("/after"), made["Stack"])
    api = Api(ours, again["Api"])

    assert again["Api"] == made["Api"]
    assert api.send("GET", "/after", {})[0] == 200
    assert api.send("GET", "/before", {})[::2] == (404, {"message": "Not Found"})


# "If you want to create a stack from a stack template that contains macros and nested stacks, you must create the stack
# directly from the template using this capability." (CAPABILITY_AUTO_EXPAND, CreateStack)
def test_nested_stack_has_an_api_of_sam_events(ours: Account) -> None:
    api = Api(ours, deploy(ours, nested(ours, "/nested/{id}"))["Api"])
    status, _, body = api.send("GET", "/nested/3", {})
    assert (status, body["pathParameters"]) == (200, {"id": "3"})


# "AllowOrigins: Represents a collection of allowed origins." (CloudFormation, AWS::ApiGatewayV2::Api Cors) [cors]
def test_cors_configuration_of_a_plain_api_is_read(ours: Account) -> None:
    cors = {"AllowOrigins": [SHOP], "AllowMethods": ["GET"]}
    properties = {"Name": "plain", "ProtocolType": "HTTP", "CorsConfiguration": cors}
    resources = {"Api": {"Type": "AWS::ApiGatewayV2::Api", "Properties": properties}}
    api = Api(ours, deploy(ours, template(resources))["Api"])
    status, headers, _ = api.send("OPTIONS", "/", {"Origin": SHOP})
    assert (status, headers[ALLOW_ORIGIN], headers["access-control-allow-methods"]) == (204, SHOP, "GET")


def test_every_client_reaches_the_api_address(ours: Account) -> None:
    document = small("/keys/{key}")
    document["Outputs"]["Url"] = {"Value": {"Fn::GetAtt": ["ServerlessHttpApi", "ApiEndpoint"]}}
    made = deploy(ours, document)

    assert made["Url"] == ours.client("apigatewayv2").get_api(ApiId=made["Api"])["ApiEndpoint"]
    assert requests.get(f"{made['Url']}/keys/a%23b", timeout=20).json()["pathParameters"] == {"key": "a#b"}
