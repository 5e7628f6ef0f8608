"""A schedule of a hot SKU: the faults that only stock knows."""

from collections.abc import Mapping
from typing import ClassVar

from tests.faults.actors import schedule as shared

SHARDED_AT, RELEASED_AT = "operator shards at", "released at"

# At one AWS call, beside those of all actors.
CALL_KINDS = {
    SHARDED_AT: "an operator changes the number of shards meanwhile",
    RELEASED_AT: "somebody releases any of the orders meanwhile",
}
# Every batch is read row by row anyway.
KINDS = {kind: why for kind, why in shared.kinds(CALL_KINDS).items() if kind not in shared.READ_KINDS}


class Schedule(shared.Schedule):
    """seed: decides the stock, the orders, how everything interleaves, and unless they are listed, the faults."""

    NAME: ClassVar[str] = "stock"
    KINDS: ClassVar[Mapping[str, str]] = KINDS
    OWN_CALL_KINDS: ClassVar[Mapping[str, str]] = CALL_KINDS
