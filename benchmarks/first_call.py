"""One cold start: prints the time from the import of a handler to its first AWS call, and exits.

Arguments: module.handler, and the event's file. Prints elapsed seconds and CPU seconds, as JSON. It runs in a
separate process, without the project's environment.
"""

import importlib
import json
import logging
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

type Times = tuple[float, float]

CONTEXT = SimpleNamespace(
    aws_request_id="00000000-0000-4000-8000-000000000000",
    function_name="benchmark",
    function_version="$LATEST",
    invoked_function_arn="arn:aws:lambda:us-east-1:000000000000:function:benchmark",
    memory_limit_in_mb="512",
    get_remaining_time_in_millis=lambda: 60_000,
)


def main(target: str, event_file: str) -> None:
    event = json.loads(Path(event_file).read_text())
    # Lambda's runtime adds a handler to the root logger before it imports the function.
    logging.getLogger().addHandler(logging.NullHandler())
    module, _, name = target.rpartition(".")
    began = _now()
    handler = getattr(importlib.import_module(module), name)
    _stop_at_first_call(began)
    os.environ["_X_AMZN_TRACE_ID"] = "Root=1-65000000-0123456789abcdef01234567;Parent=0123456789abcdef;Sampled=1"
    handler(event, CONTEXT)
    raise SystemExit(f"{target} ended without an AWS call")


def _now() -> Times:
    return time.perf_counter(), time.process_time()


def _stop_at_first_call(began: Times) -> None:
    import botocore.client

    def ready(*_arguments: Any, **_options: Any) -> None:
        sys.stdout.write(json.dumps([now - before for now, before in zip(_now(), began, strict=True)]) + "\n")
        sys.stdout.flush()
        os._exit(0)

    botocore.client.BaseClient._make_api_call = ready  # type: ignore[attr-defined]


if __name__ == "__main__":
    main(*sys.argv[1:])
