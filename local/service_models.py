"""Reduces AWS service models to what the functions call: `python -m local.service_models`.

botocore reads a service's whole model to create a client: a quarter of a cold start with three clients.
1 to 3 % of it are left here; botocore finds them through its setting `data_path` (runtime.clients).
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from botocore.loaders import Loader

from .emulator.emulator import ROOT

OPERATIONS = {
    "connect": (
        "CreateInstance",
        "CreateUser",
        "DeleteInstance",
        "DescribeInstance",
        "ListInstances",
        "ListRoutingProfiles",
        "ListSecurityProfiles",
        "SearchUsers",
    ),
    "dynamodb": (
        "BatchGetItem",
        "DeleteItem",
        "PutItem",
        "Query",
        "Scan",
        "TransactGetItems",
        "TransactWriteItems",
        "UpdateItem",
    ),
    "lambda": ("Invoke",),
    "s3": (
        "AbortMultipartUpload",
        "CompleteMultipartUpload",
        "CopyObject",
        "CreateMultipartUpload",
        "DeleteObjects",
        "GetObject",
        "HeadObject",
        "ListObjectVersions",
        "ListObjectsV2",
        "PutObject",
        "UploadPart",
    ),
    "secretsmanager": ("GetSecretValue",),
    "sns": ("Publish",),
    "ssm": ("DeleteParameter", "GetParameter", "PutParameter"),
    "stepfunctions": (
        "DescribeExecution",
        "GetExecutionHistory",
        "ListMapRuns",
        "SendTaskSuccess",
        "StartExecution",
        "StopExecution",
    ),
}
"""The operations that the functions call. Their clients have no others."""
BY_BOTOCORE = {"s3": ("HeadBucket",)}
"""The operations that botocore calls: after status 301 or 400, it looks up the bucket's Region."""

_HOME = ROOT / "functions" / "runtime" / "service_models"
_KIND = "service-2"

type Model = dict[str, Any]


def main() -> None:
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def files() -> dict[Path, str]:
    """The content of each file, from the installed botocore."""
    loader = Loader(include_default_search_paths=False, extra_search_paths=[Loader.BUILTIN_DATA_PATH])
    return dict(_file(loader, service) for service in OPERATIONS)


def _file(loader: Loader, service: str) -> tuple[Path, str]:
    operations = OPERATIONS[service] + BY_BOTOCORE.get(service, ())
    version = loader.determine_latest_version(service, _KIND)
    model = cut_down(loader.load_service_model(service, _KIND, version), operations)
    return _HOME / service / version / f"{_KIND}.json", json.dumps(model, separators=(",", ":"), sort_keys=True) + "\n"


def cut_down(model: Mapping[str, Any], operations: tuple[str, ...]) -> Model:
    """The model with these operations, the shapes that they need, and no documentation. Raises KeyError."""
    kept = {name: model["operations"][name] for name in operations}
    shapes = {name: model["shapes"][name] for name in _reached(kept, model["shapes"])}
    rest = {key: value for key, value in model.items() if key != "documentation"}
    return rest | {"operations": _undocumented(kept), "shapes": _undocumented(shapes)}


def _reached(operations: Model, shapes: Mapping[str, Any]) -> set[str]:
    reached: set[str] = set()
    todo = set(_named(operations))
    while todo:
        reached |= todo
        todo = {name for shape in todo for name in _named(shapes[shape])} - reached
    return reached


def _named(value: Any) -> Iterator[str]:
    """The names of shapes that a part of a model refers to."""
    match value:
        case {"shape": str(name)}:
            yield name
        case dict():
            yield from (name for inner in value.values() for name in _named(inner))
        case list():
            yield from (name for inner in value for name in _named(inner))


def _undocumented(value: Any) -> Any:
    match value:
        case dict():
            # A shape may have a member of that name, which is no string.
            texts = {key for key in ("documentation", "documentationUrl") if isinstance(value.get(key), str)}
            return {key: _undocumented(inner) for key, inner in value.items() if key not in texts}
        case list():
            return [_undocumented(inner) for inner in value]
    return value


if __name__ == "__main__":
    main()
