"""Possible faults, each a value with a one-line notation.

Notation of the place of a fault:

    ProcessPayment#1           the first invocation of a state of the saga (an attempt of a Retry counts)
    ProcessPayment#1.call1     the first call of that invocation, of AWS or of the payment gateway
    recovery.ProcessRefund#1   the same in order-recovery
    FinalizeOrder#1              the first delivery of the status event; SweepOrders#1 the first sweep
    sns:NotifySuccess#1        the first attempt to publish
    ProcessPayment             a state, or a function

Notation of where late work lands:

    before ProcessRefund       when the machine enters that state (recovery.ProcessRefund likewise)
    at ProcessRefund#1.call2   just before that call of another invocation
    after the saga             once its execution has ended, before anybody finalizes the order
    after the finalization       once finalization and recovery have ended
    at last                    after everything else, including late events and the sweep

`edges` has the faults at the edges of an order's life, and their notation.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.faults import edges

AFTER_SAGA = "after the saga"
AFTER_FINALIZATION = "after the finalization"
AT_LAST = "at last"

DIES_BEFORE = "dies before"
DIES_AFTER = "dies after"
ANSWER_LOST = "answer lost at"
ANSWER_LOST_ONCE = "answer lost once at"
UNREACHABLE = "unreachable at"
THROTTLED = "throttled at"
CONFLICT = "conflict at"
DUPLICATE_AT = "duplicate at"

ERROR_BEFORE = "error before"
ERROR_AFTER = "error after"
TIMED_OUT_BEFORE = "timed out before"
TIMED_OUT_AFTER = "timed out after"
DENIED = "denied"
DUPLICATE_AFTER = "duplicate after"

LATE = "late"
ABANDONED = "abandoned"
AGAIN = "again"

FAILS_BEFORE = "gateway fails before"
FAILS_AFTER = "gateway fails after"
REFUSED = "gateway refuses"
ANOTHER = "gateway answers another"
GARBLED = "answer garbled at"
DELIVERED_TWICE = "delivered twice at"
HELD = "held on its way"
DELIVERED_AGAIN = "delivered again"
DOWN_FOR_SAGA = "gateway down for the saga:"
DOWN_FOR_GOOD = "gateway down for good:"
STRAY = "stray call of"
SECOND = "second execution of"

DENIED_FOR_SAGA = "denied for the saga:"
DENIED_FOR_GOOD = "denied for good:"

PUBLISH_FAILS = "publish fails at"
PUBLISH_ALWAYS_FAILS = "publish always fails at"

ABORTED_BEFORE = "aborted before"
ABORTED_AFTER = "aborted after"
EXECUTION_TIMED_OUT_BEFORE = "execution timed out before"
EXECUTION_TIMED_OUT_AFTER = "execution timed out after"
RUNTIME_ERROR_BEFORE = "States.Runtime before"
RUNTIME_ERROR_AFTER = "States.Runtime after"

EVENT_LOST = "event lost"
EVENT_LATE = "event late"
EVENT_THRICE = "event thrice"

# at one AWS call of one invocation
CALL_KINDS = {
    DIES_BEFORE: "the process dies before the call is sent (Runtime.ExitError, retried)",
    DIES_AFTER: "the process dies after the call took effect (Runtime.ExitError, retried)",
    ANSWER_LOST: "the call takes effect, its answer and those of the SDK's own retries never arrive",
    ANSWER_LOST_ONCE: "the call takes effect, its first answer is lost, the SDK's own retry gets through",
    UNREACHABLE: "no connection, so no effect",
    THROTTLED: "refused by throttling, so no effect",
    CONFLICT: "the transaction is cancelled by another one",
    DUPLICATE_AT: "a second delivery of the same invocation runs between the calls of the first",
}
# at one call of the payment gateway, in addition to those of CALL_KINDS that do not concern DynamoDB or its SDK
GATEWAY_KINDS = {
    FAILS_BEFORE: "the gateway answers 503, and has done nothing",
    FAILS_AFTER: "the gateway answers 500, though all was done",
    REFUSED: "the gateway answers 401 and does nothing: a fault on our side",
    GARBLED: "all was done, and the answer's body says nothing",
    ANOTHER: "all was done, and the answer is that to a request with another key: a decline, no such key, canceled",
    DELIVERED_TWICE: "the request is delivered twice at once, and one answer arrives",
}
# at one call of the gateway, with a landing: the invocation continues
REQUEST_LANDING_KINDS = {
    HELD: "the request is long on its way: the client gives up waiting, and it lands later",
    DELIVERED_AGAIN: "answered, and delivered to the gateway a second time later",
}
# on a function's way to the gateway
GATEWAY_FUNCTION_KINDS = {
    DOWN_FOR_SAGA: "the function cannot reach the gateway until the saga has ended",
    DOWN_FOR_GOOD: "the function cannot reach the gateway until somebody mends it",
}
# by others, with a landing
STRAY_KINDS = {
    STRAY: "somebody calls the function with the order",
    SECOND: "somebody starts the machine with the order, under another name",
}
# at one invocation
INVOCATION_KINDS = {
    ERROR_BEFORE: "an unknown error, which no Retry names, and nothing was done",
    ERROR_AFTER: "an unknown error after all was done",
    TIMED_OUT_BEFORE: "Sandbox.Timedout, retried, and nothing was done",
    TIMED_OUT_AFTER: "Sandbox.Timedout, retried, after all was done",
    DENIED: "every DynamoDB call of the invocation is refused: AccessDeniedException",
    DUPLICATE_AFTER: "delivered twice, the second time right after the first",
}
# at one invocation, or before one of its later calls, with a landing
LANDING_KINDS = {
    LATE: "timed out and retried; the first attempt's work lands later",
    ABANDONED: "timed out and not retried; its work still lands later",
    AGAIN: "answered, and delivered a second time later",
}
FUNCTION_KINDS = {
    DENIED_FOR_SAGA: "the function has no permission until the saga has ended",
    DENIED_FOR_GOOD: "the function has no permission until somebody gives it back",
}
PUBLISH_KINDS = {
    PUBLISH_FAILS: "the topic refuses one attempt",
    PUBLISH_ALWAYS_FAILS: "the topic refuses every attempt of the state",
}
STATE_KINDS = {
    ABORTED_BEFORE: "StopExecution as the state is entered",
    ABORTED_AFTER: "StopExecution while the state's last invocation ends",
    EXECUTION_TIMED_OUT_BEFORE: "the execution times out as the state is entered",
    EXECUTION_TIMED_OUT_AFTER: "the execution times out while the state's last invocation ends",
    RUNTIME_ERROR_BEFORE: "States.Runtime as the state is entered: no Catch sees it",
    RUNTIME_ERROR_AFTER: "States.Runtime on the state's result: no Catch sees it",
}
STATUS_AFTER = {
    ABORTED_BEFORE: "ABORTED",
    ABORTED_AFTER: "ABORTED",
    EXECUTION_TIMED_OUT_BEFORE: "TIMED_OUT",
    EXECUTION_TIMED_OUT_AFTER: "TIMED_OUT",
}
"""Final status of an execution that one of these ends from outside."""
BEFORE_STATE = {ABORTED_BEFORE, EXECUTION_TIMED_OUT_BEFORE, RUNTIME_ERROR_BEFORE}
EVENT_KINDS = {
    EVENT_LOST: "the status event never arrives",
    EVENT_LATE: "the status event arrives when sweep and recovery are over",
    EVENT_THRICE: "the status event is delivered three times",
}
FOR_GOOD = frozenset({DENIED_FOR_GOOD, DOWN_FOR_GOOD})
KINDS = {
    **CALL_KINDS,
    **GATEWAY_KINDS,
    **INVOCATION_KINDS,
    **LANDING_KINDS,
    **REQUEST_LANDING_KINDS,
    **FUNCTION_KINDS,
    **GATEWAY_FUNCTION_KINDS,
    **PUBLISH_KINDS,
    **STATE_KINDS,
    **STRAY_KINDS,
    **EVENT_KINDS,
}
# actions of others on the order, besides its saga and its recovery
MEDDLING_KINDS = STRAY_KINDS | edges.CALL_KINDS
_EDGES_WITH_LANDING = (
    edges.RECORD_KINDS
    | edges.ROW_KINDS
    | edges.CALL_KINDS
    | edges.NEIGHBOR_KINDS
    | edges.OPERATOR_KINDS
    | edges.GATEWAY_KINDS
)
_WITH_LANDING = LANDING_KINDS | REQUEST_LANDING_KINDS | STRAY_KINDS | _EDGES_WITH_LANDING
_WITHOUT_PLACE = {*EVENT_KINDS, edges.FORGETS, edges.RECOVERY_EVENT_LOST}
_MAX_FIRST = sorted(KINDS | edges.KINDS, key=len, reverse=True)


def listing(kinds: Mapping[str, str]) -> str:
    """Format the kinds of faults with their effects, for `--help`."""
    return "\n".join(["kinds of faults:", *(f"  {kind:<32} {effect}" for kind, effect in kinds.items())])


class UnknownFault(ValueError):
    """The text is not a known fault."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One fault. kind: one of KINDS. at: where it is injected. landing: where its late work lands."""

    kind: str
    at: str = ""
    landing: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in (self.kind, self.at, self.landing) if part)

    @classmethod
    def parse(cls, text: str) -> "Fault":
        """Parse a fault. Raises UnknownFault."""
        kind = next((kind for kind in _MAX_FIRST if text == kind or text.startswith(f"{kind} ")), None)
        if kind is None:
            raise UnknownFault(f"{text!r} begins with none of: {', '.join([*KINDS, *edges.KINDS])}")
        rest = text[len(kind) + 1 :]
        at, _, landing = ("", "", rest) if kind in _WITHOUT_PLACE else rest.partition(" ")
        fault = cls(kind, at, landing)
        if bool(landing) != (kind in _WITH_LANDING) or bool(at) == (kind in _WITHOUT_PLACE):
            raise UnknownFault(f"{text!r} does not say where {kind!r} is injected, or where it lands")
        return fault

    @property
    def step(self) -> str:
        """State or function of its place, without counters: a column of the table."""
        return self.at.partition("#")[0] or "status event"

    @property
    def is_edge(self) -> bool:
        """True if it is one of `edges`."""
        return self.kind in edges.KINDS
