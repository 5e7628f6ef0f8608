"""The HTTP API of a deployed stack: its promises to clients that retry, guess, or impersonate others."""

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from botocore.credentials import Credentials

from api.document import Document
from stepwise.operations.stack import Stack
from tests.kit import deployed_stack
from tests.kit.bounded import Threads
from tests.kit.http_client import HttpClient
from tests.kit.injection import Resources, eventually
from tests.kit.local_stack import Document as Json
from tests.kit.template import RESOURCES
from tests.kit.token_issuer import AUDIENCE, TokenIssuer, token_issuer

pytestmark = pytest.mark.local_only("signs as the local stack's root, and adds users, tokens and an API")

AT_ONCE = 20
ROUTES = dict(Document().operations())
# Ids that do not exist.
UNKNOWN = {
    "order_id": "o-unknown",
    "pk": "TENANT%23tenant1",
    "sk": "PRODUCT%23unknown",
    "import_id": "0" * 32,
    "name": "failed",
    "task_id": "unknown",
    "webhook_id": f"wh_{'0' * 24}",
    "approval_id": "account-opening.unknown.review",
    "application_id": "unknown",
}
SCOPES = sorted({operation.module for operation in ROUTES.values()})


@pytest.fixture(scope="module")
def client(stack: Stack) -> HttpClient:
    """A back end that acts for its own tenant."""
    return HttpClient(stack.outputs["ApiUrl"], f"t{uuid.uuid4().hex[:12]}")


@pytest.fixture
def command(client: HttpClient) -> Json:
    code = uuid.uuid4().hex[:8]
    own = {"pk": f"TENANT#{client.tenant_code}", "sk": f"PRODUCT#{code}", "id": code, "code": code, "name": "Sencha"}
    return {**own, "type": "PRODUCT", "attributes": {"category": "tea", "price": 1500, "currency": "JPY"}}


@pytest.fixture(scope="module")
def uploaded(client: HttpClient) -> str:
    """The key of a file of two products, one of which is invalid."""
    link = client.post("/imports", {"file_name": "products.csv"}).json()
    rows = f"code,name,category,price,currency\r\n{uuid.uuid4().hex[:8]},Sencha,tea,1500,JPY\r\nx,Bad,tea,x,JPY\r\n"
    assert requests.put(link["upload_url"], data=rows.encode(), timeout=10).ok
    return str(link["key"])


def ended(client: HttpClient, location: str) -> Json:
    """Wait until the status document waits for nothing. Returns it."""
    found: list[Any] = []

    def waits_for_nothing() -> bool:
        found.append(client.get(location).json())
        return found[-1]["waits_for"] is None

    eventually(waits_for_nothing, seconds=120, every=0.5)
    answer: Json = found[-1]
    return answer


def at_once(send: Callable[[], requests.Response]) -> list[requests.Response]:
    """The responses to a request that is sent 20 times concurrently."""
    barrier = threading.Barrier(AT_ONCE, timeout=120)

    def wait_and_send(_: int) -> requests.Response:
        barrier.wait()
        return send()

    with Threads(AT_ONCE) as pool:
        return list(pool.map(wait_and_send, range(AT_ONCE)))


def decided(send: Callable[[], requests.Response]) -> set[str]:
    """The distinct responses to a request that is sent 20 times concurrently, and retried while it is in flight."""

    def answer() -> requests.Response:
        found: list[requests.Response] = []

        def is_decided() -> bool:
            found.append(send())
            return found[-1].status_code not in {409, 429, 503}

        eventually(is_decided, seconds=120, every=0.2)
        return found[-1]

    return {f"{one.status_code} {json.dumps(one.json(), sort_keys=True)}" for one in at_once(answer)}


def lose(client: HttpClient, path: str, body: Any, key: str) -> None:
    """Send a request, and hang up before the answer."""
    impatient = HttpClient(client.url, client.tenant_code, timeout=0.01)
    with pytest.raises(requests.Timeout):
        impatient.post(path, body, key)


def test_order_sent_20_times_with_lost_answers_is_placed_once(
    client: HttpClient, order: Json, on_hand: Callable[[], int]
) -> None:
    before, key = on_hand(), uuid.uuid4().hex
    lose(client, "/orders", order, key)

    assert len(decided(lambda: client.post("/orders", order, key))) == 1
    status = ended(client, f"/orders/{order['order_id']}")
    assert (status["saga"], status["payment"]["amount"]) == ({"status": "SUCCEEDED"}, 3000)
    assert on_hand() == before - 2


def test_command_sent_20_times_with_lost_answers_is_one_version(client: HttpClient, command: Json) -> None:
    key = uuid.uuid4().hex
    lose(client, "/commands", command, key)
    answers = decided(lambda: client.post("/commands", command, key))
    location = client.post("/commands", command, key).headers["Location"]

    assert len(answers) == 1
    versions = ended(client, location)
    assert (versions["published"], versions["finished"]) == (1, 1)
    entity = client.get(location.removesuffix("/versions"))
    assert (entity.headers["ETag"], entity.json()["attributes"]) == ('"1"', command["attributes"])
    again = client.get(location.removesuffix("/versions"), headers={"If-None-Match": entity.headers["ETag"]})
    assert (again.status_code, again.text) == (304, "")
    assert client.get(location.removesuffix("/versions"), at="1").json() == entity.json()
    assert client.get(location.removesuffix("/versions"), at="2020-01-01T00:00:00Z").status_code == 404
    assert client.get(location.removesuffix("/versions"), at="2020-02-30T00:00:00Z").status_code == 400


def test_import_sent_20_times_with_lost_answers_is_one_import(client: HttpClient, uploaded: str) -> None:
    request, key = {"key": uploaded, "type": "PRODUCT"}, uuid.uuid4().hex
    lose(client, "/imports", request, key)
    answers = decided(lambda: client.post("/imports", request, key))
    (found,) = client.get("/imports", key=uploaded).json()["imports"]

    assert answers == {f'202 {{"import_id": "{found["import_id"]}"}}'}
    status = ended(client, f"/imports/{found['import_id']}")
    assert (status["succeeded_rows"], status["failed_rows"]) == (1, 1)
    link = client.get(f"/imports/{found['import_id']}/results/failed")
    assert link.status_code == 302
    assert "NotANumber" in requests.get(link.headers["Location"], timeout=10).text


def test_refused_file_is_shown_with_its_error(client: HttpClient) -> None:
    link = client.post("/imports", {"file_name": "products.csv"}).json()
    assert requests.put(link["upload_url"], data=b"code,name\r\na,b\r\n", timeout=10).ok
    made = client.post("/imports", {"key": link["key"], "type": "PRODUCT"}).headers["Location"]

    status = ended(client, made)
    assert (status["status"], status["error"]["code"]) == ("FAILED", "MissingColumn")


def test_upload_link_is_for_the_same_file_each_time(client: HttpClient) -> None:
    key = uuid.uuid4().hex
    answers = {client.post("/imports", {"file_name": "a.csv"}, key).json()["key"] for _ in range(2)}

    assert len(answers) == 1


def test_webhook_sent_20_times_with_lost_answers_is_one_subscription(client: HttpClient, stack: Stack) -> None:
    url = f"{stack.services['webhooks']}/{uuid.uuid4().hex}"
    request, key = {"url": url, "events": ["command"]}, uuid.uuid4().hex
    lose(client, "/webhooks", request, key)
    answers = decided(lambda: client.post("/webhooks", request, key))

    # Bodies have the secret.
    assert (len(answers), {one[:3] for one in answers}) == (1, {"201"})
    made = json.loads(next(iter(answers))[4:])
    assert [one["webhook_id"] for one in client.get("/webhooks").json()["webhooks"]] == [made["webhook_id"]]
    assert made["secret"].startswith("whsec_")
    assert made["secret"] not in json.dumps(stack.rows("IdempotencyTable"), default=str)
    assert client.of("tenant9").send("DELETE", f"/webhooks/{made['webhook_id']}").status_code == 404
    assert client.send("DELETE", f"/webhooks/{made['webhook_id']}").status_code == 204
    assert client.get("/webhooks").json()["webhooks"] == []
    assert client.post("/webhooks", request, key).json() == {"webhook_id": made["webhook_id"], "secret": None}


@pytest.fixture
def application() -> Json:
    """An application without a document, so that it is reviewed."""
    own = uuid.uuid4().hex[:12]
    address = {"line1": f"Geheimweg {own}", "city": "Babelsberg", "postal_code": "14482", "country": "DE"}
    person = {"name": f"Konrad Zuse {own}", "date_of_birth": "1987-06-05", "address": address}
    return {"application_id": own, **person, "document_key": f"documents/{own}"}


def test_application_and_decision_sent_20_times_with_lost_answers_are_one(
    client: HttpClient, stack: Stack, application: Json
) -> None:
    key, own = uuid.uuid4().hex, application["application_id"]
    lose(client, "/applications", application, key)
    answers = decided(lambda: client.post("/applications", application, key))
    review = {"approval_id": f"account-opening.{own}.review", "group": "account-opening"}
    eventually(lambda: client.get(f"/applications/{own}").json()["waits_for"] == "the decision of its review")
    eventually(lambda: review.items() <= {**waiting(client).get(review["approval_id"], {})}.items())
    path, decision = f"/approvals/{review['approval_id']}/decision", {"decision": "reject", "decided_by": "reviewer-1"}
    other_key = uuid.uuid4().hex
    lose(client, path, decision, other_key)
    made = decided(lambda: client.post(path, decision, other_key))
    status = ended(client, f"/applications/{own}")

    assert answers == {f'202 {{"application_id": "{own}"}}'}
    assert made == {f'200 {{"approval_id": "{review["approval_id"]}", "status": "REJECTED"}}'}
    assert (status["status"], status["flags"]) == ("REJECTED", ["DocumentMissing"])
    assert "Zuse" not in json.dumps([status, stack.rows("IdempotencyTable")], default=str)
    assert client.post(path, {**decision, "decision": "approve"}).status_code == 409
    assert review["approval_id"] not in waiting(client)


def waiting(client: HttpClient) -> dict[str, Json]:
    """The ids of waiting approvals, page by page."""
    found, query = dict[str, Json](), {"group": "account-opening", "limit": 2}
    while query:
        page = client.get("/approvals", **query).json()
        found |= {one["approval_id"]: one for one in page["approvals"]}
        query = {**query, "cursor": page["cursor"]} if page["cursor"] else {}
    return found


def test_orders_are_listed_page_by_page(client: HttpClient, order: Json) -> None:
    placed = [{**order, "order_id": f"{order['order_id']}-{number}"} for number in range(3)]
    for one in placed:
        client.post("/orders", one)
    for one in placed:
        ended(client, f"/orders/{one['order_id']}")
    # Their sagas run concurrently: any of them may be the oldest.
    since = min(client.get(f"/orders/{one['order_id']}").json()["order"]["created_at"] for one in placed)
    found, query = [], {"since": since, "limit": 1}
    while query:
        page = client.get("/orders", **query).json()
        found += [one["order_id"] for one in page["orders"]]
        query = {"since": since, "limit": 1, "cursor": page["cursor"]} if page["cursor"] else {}

    assert {one["order_id"] for one in placed} <= set(found)
    assert len(found) == len(set(found))


# --- Who may do what ---


def path_of(route: str) -> tuple[str, str]:
    method, _, path = route.partition(" ")
    return method, path.format(**UNKNOWN)


def called(client: HttpClient, route: str) -> int:
    """The status of a call of a route, with a body of the wrong type if it takes one."""
    method, path = path_of(route)
    return client.send(method, path, **({"json": []} if ROUTES[route].body else {})).status_code


def let_in(route: str) -> int:
    """The status of the same call by a caller who may use the route."""
    if ROUTES[route].body:
        return 400
    return 404 if "{" in route else 200


@pytest.fixture(scope="module")
def roles(stack: Stack) -> Callable[[str], Credentials]:
    """Credentials of a new user who may call this part of the API; no rights at all without a part."""
    iam = stack.client("iam")
    api = stack.outputs["ApiUrl"].split("/")[-2]

    def of(part: str) -> Credentials:
        name = f"u-{uuid.uuid4().hex[:12]}"
        iam.create_user(UserName=name)
        resource = f"arn:aws:execute-api:us-east-1:000000000000:{api}/$default/{part}"
        allow = {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": resource}
        if part:
            document = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
            iam.put_user_policy(UserName=name, PolicyName="call", PolicyDocument=document)
        made = iam.create_access_key(UserName=name)["AccessKey"]
        return Credentials(made["AccessKeyId"], made["SecretAccessKey"])

    return of


def test_every_route_by_role_under_iam(client: HttpClient, roles: Callable[[str], Credentials]) -> None:
    callers = {
        "nobody": HttpClient(client.url, client.tenant_code, None),
        "no permission": HttpClient(client.url, client.tenant_code, roles("")),
        "reads": HttpClient(client.url, client.tenant_code, roles("GET/*")),
        "everything": HttpClient(client.url, client.tenant_code, roles("*")),
    }
    for route in ROUTES:
        expected = {"nobody": 403, "no permission": 403, "everything": let_in(route)}
        expected["reads"] = let_in(route) if route.startswith("GET") else 403
        # Keys of tenant1 belong to another tenant.
        assert {name: called(one, route) for name, one in callers.items()} == expected, route


def test_every_tenant_route_requires_a_tenant(client: HttpClient) -> None:
    unnamed = client.of("")

    assert {route: called(unnamed, route) for route in ROUTES} == {
        route: 400 if ROUTES[route].for_tenants else let_in(route) for route in ROUTES
    }


def test_other_tenants_data_does_not_exist(client: HttpClient, command: Json, uploaded: str) -> None:
    other = client.of("tenant9")
    location = client.post("/commands", command, uuid.uuid4().hex).headers["Location"]
    request = {"key": uploaded, "type": "PRODUCT", "validate_only": True}
    made = client.post("/imports", request).headers["Location"]
    task = {"task_type": "rebuild-read-model", "items": [{"pk": command["pk"], "sk": command["sk"]}]}
    created = client.post("/tasks", task).headers["Location"]
    seen = [location, location.removesuffix("/versions"), made, f"{made}/results/failed", created]

    assert [client.get(one).status_code for one in (location, made, created)] == [200, 200, 200]
    assert [other.get(one).status_code for one in seen] == [404] * len(seen)
    assert other.post("/commands", command, uuid.uuid4().hex).status_code == 404
    assert other.post("/imports", request).status_code == 404
    checksum = {"task_type": "checksum-object", "items": [{"bucket": "jobs", "key": "tenant1/report.pdf"}]}
    assert other.post("/tasks", checksum).status_code == 422
    assert other.get("/imports").json()["imports"] == []


@pytest.fixture(scope="module")
def issuer() -> Iterator[TokenIssuer]:
    with token_issuer() as made:
        yield made


@pytest.fixture(scope="module")
def under_jwt(stack: Stack, issuer: TokenIssuer) -> Callable[..., HttpClient]:
    """A client of the same function behind the routes that the stack has with ApiJwtIssuer."""
    given = {"ApiJwtIssuer": issuer.url, "ApiJwtAudience": AUDIENCE, "ApiCorsOrigins": "https://shop.example"}
    body = deployed_stack.Stack(parameters=given).resolve(RESOURCES["HttpApi"]["Properties"]["Body"])
    function = Resources(stack)["HandleRequestFunction"]
    arn = stack.client("lambda").get_function(FunctionName=function)["Configuration"]["FunctionArn"]
    body["components"]["x-amazon-apigateway-integrations"]["function"]["uri"] = arn
    stage = {"ApiId": {"Ref": "Api"}, "StageName": "$default", "AutoDeploy": True}
    template = {
        "Resources": {
            "Api": {"Type": "AWS::ApiGatewayV2::Api", "Properties": {"Body": body}},
            "Stage": {"Type": "AWS::ApiGatewayV2::Stage", "Properties": stage},
        },
        "Outputs": {"Url": {"Value": {"Fn::GetAtt": ["Api", "ApiEndpoint"]}}},
    }
    cloud, name = stack.client("cloudformation"), f"jwt-{uuid.uuid4().hex[:8]}"
    cloud.create_stack(StackName=name, TemplateBody=json.dumps(template))
    eventually(lambda: "Outputs" in cloud.describe_stacks(StackName=name)["Stacks"][0], seconds=30)
    (output,) = cloud.describe_stacks(StackName=name)["Stacks"][0]["Outputs"]

    def of(scope: str, **claims: Any) -> HttpClient:
        return HttpClient(output["OutputValue"], "", None, issuer.token(scope, **claims))

    return of


def test_every_route_by_scope_under_jwt(under_jwt: Callable[..., HttpClient]) -> None:
    """A token for one context cannot call another or, without the claim tenant_code, use a tenant's data."""
    for route, operation in ROUTES.items():
        asked = {"groups": ["reviewers", "pricing"]}
        allowed = {
            scope for scope in SCOPES if called(under_jwt(scope, tenant_code="t9", **asked), route) == let_in(route)
        }
        assert allowed == {operation.module}, route
        assert called(under_jwt("", tenant_code="t9"), route) == 403
        untenanted = called(under_jwt(operation.module, **asked), route)
        assert untenanted == (403 if operation.for_tenants else let_in(route)), route


def test_token_of_another_issuer_or_an_expired_one_is_rejected(under_jwt: Callable[..., HttpClient]) -> None:
    client = under_jwt("orders")
    header, payload, signature = client.token.split(".")
    forged = HttpClient(client.url, "", None, f"{header}.{payload}.{signature[::-1]}")

    assert client.get("/orders").status_code == 200
    for other in (forged, under_jwt("orders", exp=1), under_jwt("orders", aud="other"), under_jwt("orders", iss="x")):
        assert other.get("/orders").status_code == 401


def test_tenant_claim_overrides_the_header(
    under_jwt: Callable[..., HttpClient], client: HttpClient, command: Json
) -> None:
    location = client.post("/commands", command, uuid.uuid4().hex).headers["Location"]
    own, other = under_jwt("commands", tenant_code=client.tenant_code), under_jwt("commands", tenant_code="t9")

    assert own.get(location).status_code == 200
    assert other.get(location, headers={"X-Tenant-Code": client.tenant_code}).status_code == 404


def test_pages_of_listed_origins_may_call_it(under_jwt: Callable[..., HttpClient], client: HttpClient) -> None:
    def allowed(of: HttpClient, origin: str) -> str | None:
        return of.get("/orders", headers={"Origin": origin}).headers.get("Access-Control-Allow-Origin")

    assert allowed(under_jwt("orders"), "https://shop.example") == "https://shop.example"
    assert allowed(under_jwt("orders"), "https://evil.example") is None
    assert allowed(client, "https://shop.example") is None
