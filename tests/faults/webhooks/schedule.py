"""Schedules of webhooks, with the faults that only webhooks have."""

from collections.abc import Mapping
from typing import ClassVar

from tests.faults import faults as f
from tests.faults.actors import schedule as shared

STALE_AT = "stale index at"
RESENT_AT, PAUSED_AT, REMOVED_AT, SWEEP_AT = "resent at", "paused at", "removed at", "sweep runs at"
CHANGED_AT = "changed at"

# Faults at one AWS call or request, in addition to those of all actors.
CALL_KINDS = {
    RESENT_AT: "an operator sends any delivery again meanwhile",
    PAUSED_AT: "an operator disables any subscription meanwhile, and enables it later",
    REMOVED_AT: "somebody removes any subscription meanwhile, and perhaps subscribes it again",
    CHANGED_AT: "somebody subscribes any address meanwhile, or rotates or finishes a rotation of its secrets",
    SWEEP_AT: "another sweep runs meanwhile",
}
# Faults at one read of an index.
INDEX_KINDS = {STALE_AT: "the index does not show the writes of the last seconds"}
# Webhooks read no batch of several rows, and run in no state machine.
_OTHERS = {*shared.READ_KINDS, *shared.MACHINE_CALL_KINDS, *f.STATE_KINDS}
KINDS = {
    kind: why
    for kind, why in shared.kinds({**CALL_KINDS, **INDEX_KINDS}, shared.ACCOUNT_KINDS).items()
    if kind not in _OTHERS
}


class Schedule(shared.Schedule):
    """A schedule. seed: decides subscriptions, notices, receivers, interleaving and, unless listed, the faults."""

    NAME: ClassVar[str] = "webhooks"
    KINDS: ClassVar[Mapping[str, str]] = KINDS
    OWN_CALL_KINDS: ClassVar[Mapping[str, str]] = CALL_KINDS
