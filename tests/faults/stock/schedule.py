"""Schedules of a hot SKU, with the faults that only stock has."""

from collections.abc import Mapping
from typing import ClassVar

from tests.faults.actors import schedule as shared

SHARDED_AT, RELEASED_AT = "operator shards at", "released at"

# Faults at one AWS call, in addition to those of all actors.
CALL_KINDS = {
    SHARDED_AT: "an operator changes the number of shards meanwhile",
    RELEASED_AT: "somebody releases any of the orders meanwhile",
}
# Every batch is read row by row anyway.
KINDS = {kind: why for kind, why in shared.kinds(CALL_KINDS).items() if kind not in shared.READ_KINDS}


class Schedule(shared.Schedule):
    """A schedule. seed: decides the stock, the orders, the interleaving and, unless they are listed, the faults."""

    NAME: ClassVar[str] = "stock"
    KINDS: ClassVar[Mapping[str, str]] = KINDS
    OWN_CALL_KINDS: ClassVar[Mapping[str, str]] = CALL_KINDS
