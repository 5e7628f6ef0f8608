"""AWS clients with their timeouts.

They come from botocore itself, as boto3's do; importing boto3 takes an eighth of a cold start, for resources and S3
transfers that nothing here uses. They know the operations that are called, and no others.
"""

from functools import cache
from pathlib import Path
from typing import Any

from botocore.config import Config
from botocore.session import Session, get_session

from .tracing import trace_aws_calls

# Two tries of 1 + 2 s each, and up to 1 s between them: the two calls of a tombstone end before a function's timeout
# of 15 s, those around a gateway's before its 30 s. A lost answer is StoreUnavailable, where a timeout says nothing.
_CONFIG = Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 2})

# For services whose callers decide themselves what to repeat.
_ONCE = Config(connect_timeout=2, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 1})


# Descriptions of the services with these operations: local/service_models.py makes them.
_SERVICE_MODELS = Path(__file__).with_name("service_models")


@cache
def session() -> Session:
    """The session of this execution environment, which makes all its clients."""
    made = get_session()
    made.set_config_variable("data_path", str(_SERVICE_MODELS))
    return made


@cache
def client(service: str) -> Any:
    """The client of a service in this execution environment, made at its first use."""
    trace_aws_calls()
    return session().create_client(service, config=_CONFIG)


@cache
def single_try_client(service: str) -> Any:
    """A client that never tries a call again by itself."""
    trace_aws_calls()
    return session().create_client(service, config=_ONCE)
