"""What can go wrong, each as a value with one line of text that says it and is read back from it.

Where a fault strikes is written as the run counts:

    ProcessPayment#1           the first invocation of a state of the saga (an attempt of a Retry counts)
    ProcessPayment#1.call1     the first AWS call of that invocation
    recovery.ProcessRefund#1   the same in order-recovery
    SettleOrder#1              the first delivery of the status event; SweepOrders#1 the first sweep
    sns:NotifySuccess#1        the first attempt to publish
    ProcessPayment             a state, or a function

and where late work lands:

    before ProcessRefund       when the machine enters that state (recovery.ProcessRefund likewise)
    at ProcessRefund#1.call2   just before that call of another invocation
    after the saga             once its execution has ended, before anybody settles the order
    after the settlement       once settlement and recovery have ended
    at last                    when all else is over, a late event and the sweep included
"""

from dataclasses import dataclass

AFTER_SAGA = "after the saga"
AFTER_SETTLEMENT = "after the settlement"
AT_LAST = "at last"

DIES_BEFORE = "dies before"
DIES_AFTER = "dies after"
ANSWER_LOST = "answer lost at"
ANSWER_LOST_ONCE = "answer lost once at"
UNREACHABLE = "unreachable at"
THROTTLED = "throttled at"
CONFLICT = "conflict at"
TWIN_AT = "twin at"

ERROR_BEFORE = "error before"
ERROR_AFTER = "error after"
TIMED_OUT_BEFORE = "timed out before"
TIMED_OUT_AFTER = "timed out after"
DENIED = "denied"
TWIN_AFTER = "twin after"

LATE = "late"
ABANDONED = "abandoned"
AGAIN = "again"

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
    TWIN_AT: "a second delivery of the same invocation runs between the calls of the first",
}
# at one invocation
INVOCATION_KINDS = {
    ERROR_BEFORE: "an unknown error, which no Retry names, and nothing was done",
    ERROR_AFTER: "an unknown error after all was done",
    TIMED_OUT_BEFORE: "Sandbox.Timedout, retried, and nothing was done",
    TIMED_OUT_AFTER: "Sandbox.Timedout, retried, after all was done",
    DENIED: "every DynamoDB call of the invocation is refused: AccessDeniedException",
    TWIN_AFTER: "delivered twice, the second time right after the first",
}
# at one invocation, or before one of its later calls, with a landing
LANDING_KINDS = {
    LATE: "timed out and retried; the first attempt's work lands later",
    ABANDONED: "timed out and not retried; its work lands later all the same",
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
EVENT_KINDS = {
    EVENT_LOST: "the status event never arrives",
    EVENT_LATE: "the status event arrives when sweep and recovery are over",
    EVENT_THRICE: "the status event is delivered three times",
}
KINDS = CALL_KINDS | INVOCATION_KINDS | LANDING_KINDS | FUNCTION_KINDS | PUBLISH_KINDS | STATE_KINDS | EVENT_KINDS
_LONGEST_FIRST = sorted(KINDS, key=len, reverse=True)


class UnknownFault(ValueError):
    """The text says no fault that the explorer knows."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """kind: one of KINDS. at: where it strikes. landing: where late work lands, for LANDING_KINDS."""

    kind: str
    at: str = ""
    landing: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in (self.kind, self.at, self.landing) if part)

    @classmethod
    def parse(cls, text: str) -> "Fault":
        """The fault that reads so. Raises UnknownFault."""
        kind = next((kind for kind in _LONGEST_FIRST if text == kind or text.startswith(f"{kind} ")), None)
        if kind is None:
            raise UnknownFault(f"{text!r} begins with none of: {', '.join(KINDS)}")
        at, _, landing = text[len(kind) + 1 :].partition(" ")
        fault = cls(kind, at, landing)
        if bool(landing) != (kind in LANDING_KINDS) or bool(at) == (kind in EVENT_KINDS):
            raise UnknownFault(f"{text!r} does not say where {kind!r} strikes, or where it lands")
        return fault

    @property
    def step(self) -> str:
        """The state or function that it strikes, without counters: a row of the table."""
        return self.at.partition("#")[0] or "status event"
