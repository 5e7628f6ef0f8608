"""The cause of a failed execution."""

import json


def message_of(cause: str) -> str:
    """The message of the function's error, or the raw cause."""
    try:
        return str(json.loads(json.loads(cause)["Cause"])["errorMessage"])
    except (ValueError, KeyError, TypeError):
        return cause
