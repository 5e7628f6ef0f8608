"""Reduces AWS service models to what the functions call: `service_models.py WHEEL FOLDER`.

botocore reads a service's whole model to create a client: a quarter of a cold start with three clients.
1 to 3 % of it are left here; botocore finds them through its setting `data_path` (runtime.clients).
The Makefile calls this for each build, with the wheel of the botocore that service_models.txt pins.
"""

import gzip
import json
import sys
import zipfile
from collections.abc import Iterator, Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

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

_FILE = "service-2.json"

type Model = dict[str, Any]


def write(data: Traversable, folder: Path) -> None:
    """Write the reduced models of a botocore's folder `data` into a folder, named as botocore looks for them."""
    for service in OPERATIONS:
        version = max(one.name for one in (data / service).iterdir() if (one / f"{_FILE}.gz").is_file())
        model = json.loads(gzip.decompress((data / service / version / f"{_FILE}.gz").read_bytes()))
        written = folder / service / version / _FILE
        written.parent.mkdir(parents=True)
        written.write_text(json.dumps(reduced(service, model), separators=(",", ":"), sort_keys=True))


def reduced(service: str, model: Mapping[str, Any]) -> Model:
    """A service's model with the operations that are called. Raises KeyError if it lacks one."""
    return cut_down(model, OPERATIONS[service] + BY_BOTOCORE.get(service, ()))


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
    write(zipfile.Path(sys.argv[1]) / "botocore" / "data", Path(sys.argv[2]))
