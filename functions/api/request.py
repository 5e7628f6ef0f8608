"""API Gateway events (payload format 2.0), and the request and environment passed to an operation."""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from runtime.environment import Variables
from runtime.json_documents import NotJson, parse_json

from .answer import Problem
from .document import Operation

MAX_BODY = 256 * 1024
_GROUPS, _GROUP = ("cognito:groups", "groups"), re.compile(r"[A-Za-z0-9_-]{1,64}")
_KEY, _TENANT = "idempotency-key", "x-tenant-code"
_ABSENT = frozenset({"", "null", "none", "nil", "undefined", "nan", "true", "false"})
_LISTS = ("[", "{", "map[")
_BRACKETS = " <>()\"'"
_MAX_SHOWN = 20


class Environment(Variables):
    """Names of tables and the bucket; ARNs of state machines and functions."""

    idempotency_table: str
    orders_table: str
    payments_table: str
    inventory_table: str
    order_saga_arn: str
    order_recovery_arn: str
    commands_table: str
    gates_table: str
    data_table: str
    history_table: str
    publish_command_function: str
    imports_table: str
    imports_bucket: str
    create_import_function: str
    tasks_table: str
    create_task_function: str
    webhooks_table: str
    subscribe_webhook_function: str
    remove_webhook_function: str
    approvals_table: str
    decide_approval_function: str
    applications_table: str
    submit_application_function: str


@dataclass(frozen=True, slots=True)
class Received:
    """An event. route: its route key. claims: of a JWT; None under IAM. principal: the caller."""

    route: str
    method: str
    path: str
    request_id: str
    values: Mapping[str, Mapping[str, str]] = field(repr=False)
    content: bytes = field(repr=False)
    claims: Mapping[str, str] | None = field(repr=False)
    principal: str = field(repr=False)

    @property
    def headers(self) -> Mapping[str, str]:
        return self.values["header"]


@dataclass(frozen=True, slots=True)
class Request:
    """A valid request.

    values: its parameters, by name. body: parsed JSON, with all digits of its numbers.
    tenant_code: empty for what belongs to the stack. key: the Idempotency-Key, or empty.
    subject, groups: of a JWT; subject is None under IAM.
    """

    route: str
    tenant_code: str
    principal: str = field(repr=False)
    values: Mapping[str, Any] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: Any = field(default=None, repr=False)
    key: str = field(default="", repr=False)
    subject: str | None = field(default=None, repr=False)
    groups: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def digest(self) -> str:
        """Identifier of the request by its key, for this caller and tenant: 64 characters of `[0-9a-f]`."""
        named = json.dumps([self.principal, self.tenant_code, self.key])
        return hashlib.sha256(named.encode()).hexdigest()

    @property
    def payload(self) -> Any:
        """The part of the request that must be the same whenever the key is."""
        return {"route": self.route, "body": self.body, "values": dict(self.values)}


def parse_event(event: Any) -> Received:
    """Read an event; accepts every event that API Gateway sends."""
    context = event["requestContext"]
    authorizer = context.get("authorizer", {})
    claims = authorizer.get("jwt", {}).get("claims")
    return Received(
        event["routeKey"],
        context["http"]["method"],
        event["rawPath"],
        context["requestId"],
        {
            "path": {name: unquote(value) for name, value in (event.get("pathParameters") or {}).items()},
            "query": event.get("queryStringParameters") or {},
            "header": {name.lower(): value for name, value in event["headers"].items()},
        },
        _content(event),
        claims,
        _principal(claims, authorizer.get("iam", {})),
    )


def read(operation: Operation, received: Received) -> Request:
    """Read the request of an operation. Raises Problem: 400 with everything that is wrong, 403, 413, 415."""
    if not received.principal:
        raise Problem(403, "no-caller", "The request is not signed, or its token names no subject.")
    tenant_code = _tenant(operation, received) if operation.for_tenants else ""
    body, errors = _body(operation, received)
    values: dict[str, Any] = {}
    for parameter in operation.parameters:
        errors += _parameter(operation, parameter, received, values)
    if operation.for_tenants and not tenant_code:
        errors.append({"parameter": "X-Tenant-Code", "detail": "required"})
    known = {one["name"] for one in operation.parameters if one["in"] == "query"}
    errors += [
        {"parameter": name, "detail": "unknown parameter"} for name in received.values["query"] if name not in known
    ]
    if errors:
        raise Problem(400, "invalid-request", "The request is not valid; nothing was written.", errors)
    key = received.headers.get(_KEY, "") if operation.body else ""
    claims = received.claims
    subject, groups = (None, frozenset[str]()) if claims is None else (_subject(claims), _groups(claims))
    return Request(
        received.route, tenant_code, received.principal, values, received.headers, body, key, subject, groups
    )


def _content(event: Any) -> bytes:
    text = event.get("body") or ""
    try:
        return base64.b64decode(text) if event.get("isBase64Encoded") else text.encode(errors="surrogatepass")
    except binascii.Error:
        return b""


def _principal(claims: Mapping[str, str] | None, iam: Mapping[str, Any]) -> str:
    """Identify the caller: a token's subject, or the role or user without its session name. Empty if unknown."""
    if claims is not None:
        subject = _subject(claims)
        return json.dumps([claims.get("iss"), subject]) if subject else ""
    return str(iam.get("callerId") or "").partition(":")[0]


def _subject(claims: Mapping[str, str]) -> str:
    found = (claims.get(name) for name in ("sub", "client_id"))
    return next((str(subject) for subject in found if not _is_absent(subject)), "")


def _is_absent(value: Any) -> bool:
    """True if a claim or a header has no value, or is the text of null, of a list or of a map.

    API Gateway turns each claim into text.
    """
    return not isinstance(value, str) or value.startswith(_LISTS) or value.strip(_BRACKETS).casefold() in _ABSENT


def _groups(claims: Mapping[str, Any]) -> frozenset[str]:
    """Return the groups of a token: Cognito's claim, or else the claim `groups`.

    API Gateway turns a list into text: `[a b]`. So a name with a space cannot be told from two names, and only names
    that an approval's group may have count.
    """
    found = next((claims[name] for name in _GROUPS if name in claims), "")
    if isinstance(found, str):
        is_list = found.startswith("[") and found.endswith("]")
        found = found[1:-1].split() if is_list else [found]
    found = found if isinstance(found, list) else []
    return frozenset(one for one in found if isinstance(one, str) and _GROUP.fullmatch(one) and not _is_absent(one))


def _tenant(operation: Operation, received: Received) -> str:
    if received.claims is None:
        return received.headers.get(_TENANT, "")
    tenant_code = received.claims.get("tenant_code", "")
    (schema,) = [one["schema"] for one in operation.parameters if one["name"].lower() == _TENANT]
    # Paths and keys contain it: `a/b` would be below the folder of `a`.
    if _is_absent(tenant_code) or any(operation.document.schemas.violations(schema, tenant_code)):
        raise Problem(403, "no-tenant", "The token has no valid claim tenant_code.")
    return tenant_code


def _body(operation: Operation, received: Received) -> tuple[Any, list[Mapping[str, str]]]:
    if len(received.content) > MAX_BODY:
        raise Problem(413, "too-large", f"The body has more than {MAX_BODY:,} bytes.")
    if operation.body is None:
        return None, []
    if received.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Problem(415, "not-json", "The Content-Type must be application/json.")
    try:
        body = parse_json(received.content)
    except NotJson as error:
        return None, [{"pointer": f"#{flaw.pointer}", "detail": flaw.problem} for flaw in error.flaws]
    found = operation.document.schemas.violations(operation.body, body)
    return body, [{"pointer": f"#{one.pointer}", "detail": one.detail} for one in found]


def _parameter(
    operation: Operation, parameter: Mapping[str, Any], received: Received, values: dict[str, Any]
) -> Iterator[Mapping[str, str]]:
    name, home = parameter["name"], parameter["in"]
    text = received.values[home].get(name.lower() if home == "header" else name)
    # The claim is the tenant, and the header is ignored.
    if text is None or (name.lower() == _TENANT and received.claims is not None):
        if parameter["required"]:
            yield {"parameter": name, "detail": "required"}
        return
    # Scripts send such a text if a variable is not set, and all their requests would share it.
    if name.lower() in (_TENANT, _KEY) and _is_absent(text):
        yield {"parameter": name, "detail": f"{text[:_MAX_SHOWN]} is no value; leave the header out, or set it"}
        return
    value = _typed(text, parameter["schema"])
    for one in operation.document.schemas.violations(parameter["schema"], value):
        yield {"parameter": name, "detail": one.detail}
    # Headers say how to respond, not what to do.
    if home != "header":
        values[name] = value


def _typed(text: str, schema: Mapping[str, Any]) -> Any:
    """Convert the text to its type; returns the text itself if it does not have this type."""
    is_number = text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 20
    return int(text) if schema["type"] == "integer" and is_number else text
