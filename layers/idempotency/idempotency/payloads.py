"""What a request says, in one comparable form."""

import hashlib
import json
from typing import Any


def payload_hash(payload: Any) -> str:
    """SHA-256, in hex, of the payload's canonical JSON: keys sorted, no white space.

    It is taken of the request as it came in, not of what this version of the code reads from it, so that a deployment
    between a step and its compensation does not make them strangers.
    """
    return hashlib.sha256(canonical_json(payload).encode()).hexdigest()


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no white space. Raises TypeError or ValueError for what JSON cannot hold, NaN too."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
