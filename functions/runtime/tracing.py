"""X-Ray, silent where there is no trace (a laptop, an unsampled call)."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from aws_xray_sdk.core import patch, xray_recorder

# The SDK warns at each call that comes without a trace header.
logging.getLogger("aws_xray_sdk").setLevel(logging.ERROR)
xray_recorder.configure(context_missing="IGNORE_ERROR")


def trace_aws_calls() -> None:
    """Let each AWS call show as a subsegment of its own."""
    patch(("botocore",))


@contextmanager
def traced(name: str, **annotations: str) -> Iterator[None]:
    """Show the block as the subsegment `name`, found in X-Ray by its annotations."""
    with xray_recorder.in_subsegment(name):
        annotate(**annotations)
        yield


def annotate(**annotations: str) -> None:
    """Add annotations to the subsegment of the block."""
    for key, value in annotations.items():
        xray_recorder.put_annotation(key, value)
