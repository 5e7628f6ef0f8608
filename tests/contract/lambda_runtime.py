"""Imports handlers and signs calls in an environment with Lambda's packages only; run by test_runtime.py.

Argument: a JSON file with `modules`, `targets` (module.handler) and `operations` by service. Prints the signed ones.
"""

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

ARN = "arn:aws:service:us-east-1:000000000000:name"


def main(path: str) -> None:
    work = json.loads(Path(path).read_text())
    for name in work["modules"]:
        importlib.import_module(name)
    for target in work["targets"]:
        module, _, name = target.rpartition(".")
        getattr(importlib.import_module(module), name)
    json.dump({service: signed(service, names) for service, names in work["operations"].items()}, sys.stdout)


def signed(service: str, operations: list[str]) -> list[str]:
    """Sign each operation of a service with the functions' client without sending it. Returns the signed operations."""
    from botocore import xform_name

    from runtime.clients import client

    made = client(service)
    found = []

    def note(request: Any, **_: Any) -> Any:
        if request.headers["Authorization"].startswith(b"AWS4-HMAC-SHA256 Credential="):
            found.append(operation)
        raise StopIteration

    made.meta.events.register("before-send", note)
    for operation in operations:
        shape = made.meta.service_model.operation_model(operation).input_shape
        try:
            getattr(made, xform_name(operation))(**plain(shape))
        except StopIteration:
            continue
    return found


def plain(shape: Any) -> Any:
    """Return a value of a shape with only its required members."""
    match shape.type_name:
        case "structure":
            return {name: plain(shape.members[name]) for name in shape.required_members}
        case "list":
            return [plain(shape.member)]
        case "map":
            return {"key": plain(shape.value)}
        case "string":
            # An S3 CopySource has two parts, and an ARN six.
            return (
                shape.enum[0]
                if shape.enum
                else "bucket/key"
                if shape.name == "CopySource"
                else ARN
                if "Arn" in shape.name
                else "name"
            )
        case "integer" | "long":
            return 1
        case "boolean":
            return True
        case "blob":
            return b"-"
    raise TypeError(f"a required {shape.type_name}: {shape.name}")


if __name__ == "__main__":
    os.environ.update(
        AWS_DEFAULT_REGION="us-east-1", AWS_ACCESS_KEY_ID="-", AWS_SECRET_ACCESS_KEY="-", LAMBDA_TASK_ROOT="/var/task"
    )
    main(sys.argv[1])
