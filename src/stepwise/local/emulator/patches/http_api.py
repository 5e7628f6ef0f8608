"""Creates an `AWS::ApiGatewayV2::Api` from its OpenAPI `Body`, as SAM generates it for `HttpApi` events.

MiniStack 1.5.33 drops the body: such an API has no routes. It also keeps a template's `CorsConfiguration` under names
that its own data plane does not read, takes `https://*` for the name of an origin, lets a function's CORS headers
pass, and responds to the preflight of a route that requires authorization. The address that it returns is a host name
below localhost, which not every resolver knows.

Not read: `BodyS3Location`, and request schemas, which HTTP APIs ignore on AWS as well. Events have format 2.0, without
its `cookies`.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

type Document = dict[str, Any]
type Answer = tuple[int, dict[str, Any], bytes]

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_ANY_METHOD = "x-amazon-apigateway-any-method"
_INTEGRATION = "x-amazon-apigateway-integration"
_AUTHORIZER = "x-amazon-apigateway-authorizer"
_AUTH_TYPE = "x-amazon-apigateway-authtype"
_CORS = "x-amazon-apigateway-cors"
_TAG = "x-amazon-apigateway-tag-value"


def apply() -> None:
    """Patch the loaded MiniStack modules."""
    from ministack.services import apigateway
    from ministack.services.cloudformation import provisioners

    handlers = provisioners._RESOURCE_HANDLERS["AWS::ApiGatewayV2::Api"]
    handlers["create"] = _creating(handlers["create"])
    handlers["update"] = _updating(handlers["update"])
    apigateway._cors_response_headers = _matching_schemes(apigateway._cors_response_headers)
    apigateway._invoke_lambda_proxy = _without_cors_headers(apigateway._invoke_lambda_proxy)
    apigateway._handle_execute_in_scope = _authorizing_preflights(apigateway._handle_execute_in_scope)


def _creating(create: Callable[..., Any]) -> Callable[..., Any]:
    def create_api(logical_id: str, props: Document, stack_name: str) -> Any:
        api, attributes = create(logical_id, _described(props), stack_name)
        _import(api, props.get("Body") or {})
        return api, {**attributes, "ApiEndpoint": _addressed(api)}

    return create_api


def _updating(update: Callable[..., Any]) -> Callable[..., Any]:
    def update_api(physical_id: str, old: Document, new: Document, *names: Any, **named: Any) -> Any:
        made = update(physical_id, _described(old), _described(new), *names, **named)
        if old.get("Body") or new.get("Body"):
            _import(made[0], new.get("Body") or {})
        return made[0], {**made[1], "ApiEndpoint": _addressed(made[0])}

    return update_api


def _addressed(api: str) -> str:
    """Give the API an address that every client can reach. Its stage is always `$default`, as on AWS."""
    from ministack.services import apigateway

    address = f"http://127.0.0.1:{apigateway._PORT}/_aws/execute-api/{api}/$default"
    apigateway._apis[api]["apiEndpoint"] = address
    return address


def _described(props: Document) -> Document:
    """Return the API's properties, with those that are only in its body."""
    body = props.get("Body") or {}
    info = body.get("info", {})
    found = {"Name": info.get("title"), "Version": info.get("version"), "Description": info.get("description")}
    cors = props.get("CorsConfiguration") or body.get(_CORS) or {}
    tags = {tag["name"]: tag[_TAG] for tag in body.get("tags", []) if _TAG in tag}
    return {
        **{name: value for name, value in found.items() if value},
        **props,
        "Tags": tags | (props.get("Tags") or {}),
        "CorsConfiguration": {name[0].lower() + name[1:]: value for name, value in cors.items()},
    }


def _import(api: str, body: Document) -> None:
    """Replace the API's contents by those of the body."""
    from ministack.services import apigateway

    stores = (apigateway._routes, apigateway._integrations, apigateway._authorizers)
    before = [list(store.get(api, {})) for store in stores]
    schemes = body.get("components", {}).get("securitySchemes", {})
    authorizers = {
        name: _created(apigateway._create_authorizer, api, _authorizer(name, scheme[_AUTHORIZER]), "authorizerId")
        for name, scheme in schemes.items()
        if _AUTHORIZER in scheme
    }
    for key, operation in _operations(body):
        security = (operation if "security" in operation else body).get("security") or []
        route = {"routeKey": key, "operationName": operation.get("operationId", "")}
        if integration := _resolved(operation.get(_INTEGRATION), body):
            created = _created(apigateway._create_integration, api, _integration(integration), "integrationId")
            route["target"] = f"integrations/{created}"
        _created(apigateway._create_route, api, route | _authorization(security, schemes, authorizers), "routeId")
    for store, ids in zip(stores, before, strict=True):
        for gone in ids:
            del store[api][gone]


def _created(create: Callable[[str, Document], Answer], api: str, data: Document, name: str) -> str:
    status, _, answer = create(api, data)
    if status >= 400:
        raise ValueError(f"API Gateway refuses to import the body: {answer!r}")
    return str(json.loads(answer)[name])


def _operations(body: Document) -> Iterator[tuple[str, Document]]:
    """Yield the route keys with their operations."""
    for path, item in body.get("paths", {}).items():
        if path == "$default":
            yield path, item[_ANY_METHOD]
            continue
        for method, operation in item.items():
            if method == _ANY_METHOD or method.lower() in _METHODS:
                yield f"{'ANY' if method == _ANY_METHOD else method.upper()} {path}", operation


def _resolved(found: Document | None, body: Document) -> Document:
    """Return an integration; the operation may refer to one among the components."""
    for name in (found or {}).get("$ref", "").removeprefix("#/").split("/"):
        if name:
            found = body = body[name]
    return found or {}


def _integration(found: Document) -> Document:
    renamed = {"type": "integrationType", "uri": "integrationUri", "httpMethod": "integrationMethod"}
    data = {renamed.get(name, name): value for name, value in found.items()}
    return data | {"integrationType": str(found["type"]).upper()}


def _authorizer(name: str, found: Document) -> Document:
    sources = found.get("identitySource", [])
    return {
        **found,
        "name": name,
        "authorizerType": str(found["type"]).upper(),
        "identitySource": [part.strip() for part in sources.split(",")] if isinstance(sources, str) else sources,
    }


def _authorization(security: list[Document], schemes: Document, authorizers: dict[str, str]) -> Document:
    """Return the authorization of a route, by the first of its security requirements that names a scheme."""
    for name, scopes in [one for requirement in security for one in requirement.items()]:
        if name in authorizers:
            kind = "JWT" if schemes[name][_AUTHORIZER]["type"].lower() == "jwt" else "CUSTOM"
            return {"authorizationType": kind, "authorizerId": authorizers[name], "authorizationScopes": scopes}
        if schemes.get(name, {}).get(_AUTH_TYPE, "").lower() == "awssigv4":
            return {"authorizationType": "AWS_IAM"}
    return {}


def _matching_schemes(headers: Callable[[Document, str], Document]) -> Callable[[Document, str], Document]:
    def cors_response_headers(cors: Document, origin: str) -> Document:
        allowed = cors.get("allowOrigins", []) if cors else []
        if any(one.endswith("://*") and (origin or "").startswith(one[:-1]) for one in allowed):
            cors = {**cors, "allowOrigins": [origin]}
        return headers(cors, origin)

    return cors_response_headers


def _without_cors_headers(invoke: Callable[..., Any]) -> Callable[..., Any]:
    async def invoke_lambda_proxy(integration: Document, api: str, *args: Any, **named: Any) -> Answer:
        from ministack.services import apigateway

        status, headers, body = await invoke(integration, api, *args, **named)
        if apigateway._apis.get(api, {}).get("corsConfiguration"):
            headers = {name: one for name, one in headers.items() if not name.lower().startswith("access-control-")}
        return status, headers, body

    return invoke_lambda_proxy


def _authorizing_preflights(handle: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse a request without credentials whose route, such as `$default`, includes OPTIONS and requires them."""

    async def handle_execute(api: str, stage: str, path: str, method: str, headers: Document, *args: Any) -> Answer:
        from ministack.services import apigateway

        if method == "OPTIONS" and "authorization" not in map(str.lower, headers):
            route = apigateway._match_route(api, method, "/" + path.lstrip("/")) or {}
            kind = route.get("authorizationType", "NONE")
            if kind != "NONE":
                refused: Answer = apigateway._jwt_forbidden() if kind == "AWS_IAM" else apigateway._jwt_unauthorized()
                return refused
        handled: Answer = await handle(api, stage, path, method, headers, *args)
        return handled

    return handle_execute
