"""A schedule of a hot SKU: the faults that only stock knows."""

from collections.abc import Mapping
from typing import ClassVar

from tests.faults import faults as f
from tests.faults.actors import schedule as shared

NAME = "stock"
SHARDED_AT, RELEASED_AT = "operator shards at", "released at"

# At one AWS call, beside those of all actors.
CALL_KINDS = {
    SHARDED_AT: "an operator changes the number of shards meanwhile",
    RELEASED_AT: "somebody releases any of the orders meanwhile",
}
KINDS: Mapping[str, str] = {
    **shared.CALL_KINDS,
    **CALL_KINDS,
    **shared.WRITE_KINDS,
    **shared.TRANSACTION_KINDS,
    **shared.MACHINE_CALL_KINDS,
    **shared.INVOCATION_KINDS,
    **f.STATE_KINDS,
}


class Schedule(shared.Schedule):
    """seed: decides the stock, the orders, how everything interleaves, and unless they are listed, the faults."""

    NAME: ClassVar[str] = NAME
    KINDS: ClassVar[Mapping[str, str]] = KINDS
