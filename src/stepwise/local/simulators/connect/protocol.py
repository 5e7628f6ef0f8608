"""Amazon Connect's protocol, REST with JSON, as botocore's service model describes it."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import regex
from botocore.loaders import Loader
from botocore.model import ListShape, MapShape, NoShapeFoundError, OperationModel, ServiceModel, Shape, StructureShape
from botocore.serialize import create_serializer
from botocore.validate import ParamValidator, validate_parameters

from .errors import ConnectError

type Document = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """A request for an operation, with parameters named as in boto3, not validated yet."""

    operation: OperationModel
    parameters: Document

    @property
    def name(self) -> str:
        return str(self.operation.name)


class Protocol:
    """The service model from a server's side, without state."""

    def __init__(self) -> None:
        description = Loader().load_service_model("connect", "service-2")
        self._model = ServiceModel(description)
        self._answers = ServiceModel(_mirrored(description))
        self._serializer = create_serializer("rest-json", include_validation=False)
        self._routes: dict[tuple[str, int], list[tuple[list[str], str]]] = defaultdict(list)
        for name, operation in description["operations"].items():
            template = _segments(operation["http"]["requestUri"])
            self._routes[operation["http"]["method"], len(template)].append((template, name))

    def read(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Request:
        """Parse an HTTP request. Raises ConnectError if it matches no operation or is not a JSON object.

        headers: by their names in lower case.
        """
        url = urlsplit(target)
        name, labels = self._route(method, [unquote(segment) for segment in _segments(url.path)])
        operation = self._model.operation_model(name)
        sources = {"uri": labels, "querystring": parse_qs(url.query), "header": headers, None: _json_object(body)}
        return Request(operation, dict(_parameters(_input(operation), sources)))

    def check(self, request: Request) -> None:
        """Check the parameters. Raises ConnectError if they do not match the model."""
        shape = _input(request.operation)
        report = ParamValidator().validate(request.parameters, shape).generate_report()
        wrong = report.splitlines() or list(violations(request.parameters, shape, request.name))
        if wrong:
            raise ConnectError(_refusal(request.operation), "; ".join(wrong))

    def write(self, operation: OperationModel, answer: Document) -> bytes:
        """Write the body of a response, reduced to its shape. Raises ParamValidationError."""
        mirrored = self._answers.operation_model(operation.name)
        if mirrored.input_shape is None:
            return b""
        fitting = _fitting(answer, mirrored.input_shape)
        validate_parameters(fitting, mirrored.input_shape)
        body: bytes = self._serializer.serialize_to_request(fitting, mirrored)["body"]
        return body

    def status(self, code: str) -> int | None:
        """Return the HTTP status of an error; None if the model does not have it."""
        try:
            metadata = self._model.shape_for(code).metadata
        except NoShapeFoundError:
            return None
        return int(metadata["error"]["httpStatusCode"]) if metadata.get("exception") else None

    def _route(self, method: str, path: list[str]) -> tuple[str, dict[str, str]]:
        fitting = [
            (template, name)
            for template, name in self._routes.get((method, len(path)), [])
            if all(_is_label(wanted) or wanted == given for wanted, given in zip(template, path, strict=True))
        ]
        if not fitting:
            raise ConnectError("UnknownOperationException", f"{method} with {len(path)} path segments is no operation")
        template, name = min(fitting, key=lambda route: sum(map(_is_label, route[0])))
        labels = {wanted[1:-1]: given for wanted, given in zip(template, path, strict=True) if _is_label(wanted)}
        return name, labels


@cache
def protocol() -> Protocol:
    """Return the Protocol of this process, cached because reading the model is slow."""
    return Protocol()


def _input(operation: OperationModel) -> StructureShape:
    shape = operation.input_shape
    return shape if shape is not None else StructureShape("NoInput", {"type": "structure", "members": {}})


def _mirrored(description: Document) -> Document:
    """Build a service whose requests are this one's responses, so that botocore serializes them."""
    operations = {
        name: {"name": name, "http": {"method": "POST", "requestUri": "/"}}
        | ({"input": operation["output"]} if "output" in operation else {})
        for name, operation in description["operations"].items()
    }
    return {**description, "operations": operations}


def _segments(path: str) -> list[str]:
    return path.strip("/").split("/")


def _is_label(segment: str) -> bool:
    return segment.startswith("{")


def _json_object(body: bytes) -> Document:
    try:
        document = json.loads(body or b"{}")
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise ConnectError("InvalidRequestException", "the body is not a JSON object")
    return document


def _parameters(shape: StructureShape, sources: Mapping[str | None, Any]) -> Iterator[tuple[str, Any]]:
    unread = dict(sources[None])
    for name, member in shape.members.items():
        location, wire_name = member.serialization.get("location"), member.serialization.get("name", name)
        if location == "header":
            wire_name = wire_name.lower()
        if wire_name in sources[location]:
            value = sources[location][wire_name]
            yield name, value if location is None else _typed(value, member)
        if location is None:
            unread.pop(wire_name, None)
    yield from unread.items()


def _typed(value: Any, shape: Shape) -> Any:
    """Convert a value of a path, query or header. A value of the wrong type stays a string, and is rejected later."""
    if isinstance(shape, ListShape):
        return [_typed(item, shape.member) for item in (value if isinstance(value, list) else value.split(","))]
    text = value[-1] if isinstance(value, list) else value
    if shape.type_name in {"integer", "long"} and text.removeprefix("-").isdecimal():
        return int(text)
    if shape.type_name == "boolean" and text in {"true", "false"}:
        return text == "true"
    return text


def _refusal(operation: OperationModel) -> str:
    modelled = {error.name for error in operation.error_shapes}
    return "InvalidParameterException" if "InvalidParameterException" in modelled else "InvalidRequestException"


def _fitting(value: Any, shape: Shape) -> Any:
    if isinstance(shape, StructureShape):
        return {name: _fitting(value[name], member) for name, member in shape.members.items() if name in value}
    if isinstance(shape, ListShape):
        return [_fitting(item, shape.member) for item in value]
    return value


def violations(value: Any, shape: Shape, path: str) -> Iterator[str]:
    """Yield violations that botocore does not check (upper limits, patterns, enumerations), by a well-typed value.

    One sentence each, without the value.
    """
    yield from _own(value, shape, path)
    match shape:
        case StructureShape():
            for name, member in value.items():
                yield from violations(member, shape.members[name], f"{path}.{name}")
        case ListShape():
            for index, item in enumerate(value):
                yield from violations(item, shape.member, f"{path}[{index}]")
        case MapShape():
            for key, item in value.items():
                yield from violations(key, shape.key, f"{path} (a key)")
                yield from violations(item, shape.value, f"{path}[{key!r}]")


def _own(value: Any, shape: Shape, path: str) -> Iterator[str]:
    limits = shape.metadata
    size = value if shape.type_name in {"integer", "long", "float", "double"} else len(value) if _sized(value) else 0
    if "max" in limits and size > limits["max"]:
        yield f"{path} is over its maximum of {limits['max']}"
    if "enum" in limits and value not in limits["enum"]:
        yield f"{path} is not one of {', '.join(limits['enum'])}"
    if "pattern" in limits and not _pattern(limits["pattern"]).fullmatch(value):
        yield f"{path} does not match {limits['pattern']}"


def _sized(value: Any) -> bool:
    return isinstance(value, str | list | dict)


@cache
def _pattern(text: str) -> regex.Pattern[str]:
    """Compile a pattern of the model; some are escaped twice or enclosed in slashes."""
    bare = text[1:-1] if text.startswith("/") and text.endswith("/") else text
    return regex.compile(bare.replace("\\\\", "\\"))
