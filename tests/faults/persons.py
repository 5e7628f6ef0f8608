"""When a person is needed: then what stands only has to be listed, until an operator has made repairs."""

from collections.abc import Iterable

from tests.faults import edges as e
from tests.faults import faults as f
from tests.faults.faults import Fault
from tests.faults.history_invariants import COMPENSATIONS

# A recovery that is cut off, or whose calls are refused for a fault on our side, gives up: an alarm says so.
_IN_RECOVERY = {*f.STATE_KINDS, f.REFUSED}
# Of two payloads under one id only a person can say which is the order; and a backup brings back what is not so.
_AFTERWARDS = {e.FOREIGN, e.FOREIGN_TWICE, e.FOREIGN_EXECUTION, e.RESTORED, e.REUSED}


def needs_a_person(injected: Iterable[Fault]) -> bool:
    """Whether one of the injected faults lasts, or leaves what only a person can decide."""
    return any(map(_needs_a_person, injected))


def _needs_a_person(fault: Fault) -> bool:
    if fault.kind in _IN_RECOVERY:
        return "recovery." in fault.at
    if fault.kind == e.DELETED:
        # A record that goes while the recovery runs is restored at the recovery's end, which starts no other one.
        return "recovery." in fault.landing
    # A compensation with another payload undoes nothing, and what it bars is barred for every payload.
    return fault.kind in f.FOR_GOOD or (fault.kind in _AFTERWARDS and fault.at not in COMPENSATIONS)
