"""Consumption and its cost."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

MEMORY_GB = 0.5
# An estimate: two lines per call, of some 300 bytes each in Lambda's JSON format.
LOG_GB = 600 / 2**30
# An express workflow is billed in units of 64 MB and 100 ms.
_EXPRESS_GB, _EXPRESS_SECONDS = 64 / 1024, 0.1


@dataclass(frozen=True, slots=True)
class Use:
    """Consumption of one order or user.

    seconds: from an execution's start to its end. milliseconds: total of all invocations.
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
    """Cost in dollars, by service."""
    return {
        "Step Functions": use.transitions * prices["state_transition"],
        "Lambda": use.invocations * prices["lambda_request"]
        + use.milliseconds / 1000 * MEMORY_GB * prices["lambda_gb_second"],
        "DynamoDB": use.writes * prices["dynamodb_write_unit"] + use.reads * prices["dynamodb_read_unit"],
        "SNS": use.notices * prices["sns_publish"],
        "logs": use.invocations * LOG_GB * prices["log_gb"],
    }


def express_cost(use: Use, prices: Mapping[str, float]) -> float:
    """Cost of the state machine alone as an express workflow."""
    return prices["express_request"] + express_seconds(use.seconds, prices)


def express_seconds(seconds: float, prices: Mapping[str, float]) -> float:
    """Cost of the duration of one express execution."""
    billed = -(-seconds // _EXPRESS_SECONDS) * _EXPRESS_SECONDS
    return billed * _EXPRESS_GB * prices["express_gb_second"]
