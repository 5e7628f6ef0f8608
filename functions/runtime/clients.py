"""AWS clients with their timeouts.

botocore creates them, as boto3 would. Importing boto3 takes an eighth of a cold start, for resources and S3 transfers
that nothing here uses. The clients have only the operations that are called.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import Session, get_session

# Two attempts of 1 + 2 s each, with up to 1 s between them. The two calls of a tombstone fit the function timeout of
# 15 s, and those around a gateway call fit 30 s, so a lost response becomes StoreUnavailable instead of a timeout.
_CONFIG = Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 2})

# For callers that decide what to retry.
_ONCE = Config(connect_timeout=2, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 1})

# For a function's response. A repeated call may do its work twice, so the caller decides.
_WAITING = Config(connect_timeout=2, read_timeout=30, retries={"mode": "standard", "total_max_attempts": 1})

# Service models with these operations; the build makes them (service_models.py).
_SERVICE_MODELS = Path(__file__).with_name("service_models")

# Parameters that name the resource of a call.
_RESOURCES = ("Bucket", "FunctionName", "Name", "QueueUrl", "SecretId", "TableName", "TopicArn", "stateMachineArn")

# By default, botocore presigns requests to S3 with Signature Version 2, which newer Regions do not support, and for the
# global endpoint, which redirects to them.
_PRESIGNING = Config(signature_version="s3v4", s3={"addressing_style": "virtual"})


@cache
def session() -> Session:
    """Return the session of this execution environment, which creates all its clients."""
    made = get_session()
    made.set_config_variable("data_path", str(_SERVICE_MODELS))
    # Each client gets a copy of them.
    made.register("before-parameter-build", _note_resources)
    made.register("after-call", _name_call)
    return made


@cache
def client(service: str) -> Any:
    """Return the client of a service in this execution environment, created at first use."""
    return _created(service, _CONFIG)


@cache
def single_try_client(service: str) -> Any:
    """Return a client without retries."""
    return _created(service, _ONCE)


@cache
def waiting_client(service: str) -> Any:
    """Return a client without retries that waits until the call has done its work."""
    return _created(service, _WAITING)


@cache
def presigning_client() -> Any:
    """Return an S3 client for presigned links; nothing is sent."""
    return _created("s3", _PRESIGNING)


def _created(service: str, config: Config) -> Any:
    # Not imported above: a handler has loaded it, and the command line, which reads tables' keys here, needs no X-Ray.
    from .tracing import trace_aws_calls

    trace_aws_calls()
    return session().create_client(service, config=config)


def call_of(error: ClientError) -> str:
    """Name the call that failed: `dynamodb:UpdateItem on PaymentsTable`. It never contains a value."""
    named = error.response.get("ResponseMetadata", {}).get("Call", error.operation_name)
    return str(named)


def _note_resources(**event: Any) -> None:
    """Note which resources a call names. In the request itself they are mixed with keys and values."""
    params: Mapping[str, Any] = event["params"]
    found = [params[name] for name in _RESOURCES if isinstance(params.get(name), str)]
    found += list(params.get("RequestItems", ()))
    for action in params.get("TransactItems", ()):
        found += [part["TableName"] for part in action.values()]
    event["context"]["stepwise_resources"] = ", ".join(sorted({re.split("[:/]", name)[-1] for name in found}))


def _name_call(**event: Any) -> None:
    """Name the call in its response, which becomes that of a ClientError."""
    parsed, model = event["parsed"], event["model"]
    if "Error" in parsed:
        call = f"{model.service_model.endpoint_prefix}:{model.name}"
        resources = event["context"].get("stepwise_resources")
        parsed["ResponseMetadata"]["Call"] = f"{call} on {resources}" if resources else call
