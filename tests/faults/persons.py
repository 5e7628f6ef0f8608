"""Decides which runs need an operator.

Standing steps must then only be listed, until an operator has repaired the cause.
"""

from collections.abc import Iterable

from tests.faults import edges as e
from tests.faults import faults as f
from tests.faults.faults import Fault
from tests.faults.history_invariants import COMPENSATIONS

# A recovery gives up if it is cut off or its calls are rejected by our fault: an alarm reports it.
_IN_RECOVERY = {*f.STATE_KINDS, f.REFUSED}
# Only an operator can say which of two payloads under one id is the order, or whether a restored record is true.
_AFTERWARDS = {e.FOREIGN, e.FOREIGN_TWICE, e.FOREIGN_EXECUTION, e.RESTORED, e.REUSED}


def needs_a_person(injected: Iterable[Fault]) -> bool:
    """True if an injected fault lasts, or leaves a decision to an operator."""
    return any(map(_needs_a_person, injected))


def _needs_a_person(fault: Fault) -> bool:
    if fault.kind in e.ROW_KINDS:
        return True
    if fault.kind in _IN_RECOVERY:
        return "recovery." in fault.at
    if fault.kind == e.DELETED:
        # A record lost during the recovery is restored at its end, which starts no other recovery.
        return "recovery." in fault.landing
    # A compensation with another payload undoes nothing, and bars the step for every payload.
    return fault.kind in f.FOR_GOOD or (fault.kind in _AFTERWARDS and fault.at not in COMPENSATIONS)
