"""The caller, for the audit trail."""

from .stack import Stack


def caller(stack: Stack) -> str:
    """Return the ARN of the caller."""
    return str(stack.client("sts").get_caller_identity()["Arn"])
