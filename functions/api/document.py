"""The OpenAPI document: the only definition of what each operation takes."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .schema import Schema, Schemas

type Json = Any

_PATH = Path(__file__).with_name("openapi.json")
_TENANT = "X-Tenant-Code"


@dataclass(frozen=True)
class Operation:
    """One operation. name: its function, in the module named by its tag."""

    document: "Document"
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.values["operationId"])

    @property
    def module(self) -> str:
        return str(self.values["tags"][0])

    @property
    def for_tenants(self) -> bool:
        return any(one["name"] == _TENANT for one in self.parameters)

    @cached_property
    def parameters(self) -> list[Schema]:
        return [self.document.resolved(one) for one in self.values.get("parameters", ())]

    @property
    def body(self) -> Schema | None:
        """Schema of its body, which is required; None if it takes none."""
        if "requestBody" not in self.values:
            return None
        found: Schema = self.values["requestBody"]["content"]["application/json"]["schema"]
        return found


class Document:
    """The document. values: parsed JSON."""

    def __init__(self, values: Json | None = None) -> None:
        self.values = values or json.loads(_PATH.read_bytes())
        self.schemas = Schemas(self.find)

    def operation(self, route: str) -> Operation | None:
        """Return the operation of a route key, such as `GET /orders/{order_id}`."""
        method, _, path = route.partition(" ")
        values = self.values["paths"].get(path, {}).get(method.lower())
        return Operation(self, values) if values else None

    def operations(self) -> Iterator[tuple[str, Operation]]:
        """Yield each operation with its route key."""
        for path, item in self.values["paths"].items():
            for method, values in item.items():
                yield f"{method.upper()} {path}", Operation(self, values)

    def methods(self, path: str) -> list[str]:
        """Return the methods of the first path template that fits; empty if none does."""
        parts = path.split("/")
        for template, item in self.values["paths"].items():
            if _fits(template.split("/"), parts):
                return [method.upper() for method in item]
        return []

    def find(self, reference: str) -> Schema:
        found: Json = self.values
        for name in reference.removeprefix("#/").split("/"):
            found = found[name]
        resolved: Schema = found
        return resolved

    def resolved(self, found: Schema) -> Schema:
        return self.find(found["$ref"]) if "$ref" in found else found


def _fits(template: list[str], parts: list[str]) -> bool:
    return len(template) == len(parts) and all(
        (one.startswith("{") and other) or one == other for one, other in zip(template, parts, strict=True)
    )
