"""X-Ray, silent without a trace (a laptop, an unsampled call)."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from aws_xray_sdk.core import patch, xray_recorder

# The SDK warns at each call without a trace header.
logging.getLogger("aws_xray_sdk").setLevel(logging.ERROR)
xray_recorder.configure(context_missing="IGNORE_ERROR")


def trace_aws_calls() -> None:
    """Record each AWS call as a subsegment."""
    patch(("botocore",))


@contextmanager
def traced(name: str, **annotations: str) -> Iterator[None]:
    """Record the block as the subsegment `name`, with annotations to search for in X-Ray."""
    with xray_recorder.in_subsegment(name):
        annotate(**annotations)
        yield


def annotate(**annotations: str) -> None:
    """Add annotations to the subsegment of the block."""
    for key, value in annotations.items():
        xray_recorder.put_annotation(key, value)
