"""Canonical JSON and hash of a request."""

import hashlib
import json
from typing import Any


def payload_hash(payload: Any) -> str:
    """SHA-256, in hex, of the payload's canonical JSON.

    It covers the request as received, not as this version of the code parses it, so that a step and its compensation
    compute the same hash even if a deployment comes in between.
    """
    return hashlib.sha256(canonical_json(payload).encode()).hexdigest()


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no white space. Raises TypeError or ValueError for what JSON cannot hold, as NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
