"""What was consumed, and what that costs."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

_MEMORY_GB = 0.5
# Two lines a call, some 300 bytes each as Lambda writes them in JSON: estimated, not counted.
_LOG_GB = 600 / 2**30
# An express workflow is billed in 64 MB and 100 ms.
_EXPRESS_GB, _EXPRESS_SECONDS = 64 / 1024, 0.1


@dataclass(frozen=True, slots=True)
class Use:
    """What an order or a user consumes.

    seconds: from an execution's start to its end. milliseconds: of all invocations.
    """

    transitions: float
    seconds: float
    invocations: float
    milliseconds: float
    calls: float
    writes: float
    refused: float
    reads: float
    notices: float

    def __sub__(self, other: "Use") -> "Use":
        return Use(*(getattr(self, one.name) - getattr(other, one.name) for one in fields(Use)))

    def __add__(self, other: "Use") -> "Use":
        return Use(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(Use)))

    def __mul__(self, count: float) -> "Use":
        return Use(*(getattr(self, one.name) * count for one in fields(Use)))

    def __truediv__(self, count: float) -> "Use":
        return Use(*(getattr(self, one.name) / count for one in fields(Use)))


def costs(use: Use, prices: Mapping[str, float]) -> dict[str, float]:
    """What it costs, by service."""
    return {
        "Step Functions": use.transitions * prices["state_transition"],
        "Lambda": use.invocations * prices["lambda_request"]
        + use.milliseconds / 1000 * _MEMORY_GB * prices["lambda_gb_second"],
        "DynamoDB": use.writes * prices["dynamodb_write_unit"] + use.reads * prices["dynamodb_read_unit"],
        "SNS": use.notices * prices["sns_publish"],
        "logs": use.invocations * _LOG_GB * prices["log_gb"],
    }


def express_cost(use: Use, prices: Mapping[str, float]) -> float:
    """What the state machine alone would cost as an express workflow."""
    seconds = -(-use.seconds // _EXPRESS_SECONDS) * _EXPRESS_SECONDS
    return prices["express_request"] + seconds * _EXPRESS_GB * prices["express_gb_second"]
