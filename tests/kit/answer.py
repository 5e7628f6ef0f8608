"""The shape of an answer of AWS."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

type Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error of a service. more: what its answer holds beside code and message."""

    code: str
    more: Mapping[str, Any] = field(default_factory=dict)


type Answer = Mapping[str, Any] | Refusal
