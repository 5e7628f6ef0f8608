"""Schedules of applications, with the faults that only people and parallel branches have."""

from collections.abc import Mapping
from typing import ClassVar

from tests.faults.actors import schedule as shared

DECIDED_AT, SWEEPS_AT, STRAY_AT = "reviewers decide at", "sweeps run at", "stray call at"
SECOND_AT = "second execution at"
CHILD_ABORTED_AT = "child aborted at"
CHILD_TIMED_OUT = "timed out waiting at"
WEEKS_WITHOUT = "weeks without sweeps at"
MONTHS_PASS = "months pass at"

# Faults at one AWS call, in addition to those of all actors.
CALL_KINDS = {
    DECIDED_AT: "two reviewers decide meanwhile, perhaps both ways",
    SWEEPS_AT: "all sweeps run meanwhile",
    STRAY_AT: "somebody calls any function of a machine meanwhile",
    SECOND_AT: "somebody starts account-setup or account-recovery by hand, under another name",
}
# Faults while a parent waits for its child.
CHILD_KINDS = {
    CHILD_ABORTED_AT: "somebody stops the child",
    CHILD_TIMED_OUT: "the state of the parent times out, and the child is stopped late or never",
}
# Faults while an application is at rest, or waits for a person.
REST_KINDS = {
    WEEKS_WITHOUT: "no sweep runs for weeks, so that the waiting state times out",
    MONTHS_PASS: "91 days pass; executions are forgotten, and TTL deletes a part of what has expired",
}
KINDS = shared.kinds(
    *(CALL_KINDS, CHILD_KINDS, shared.RECORD_KINDS, shared.EVENT_KINDS, shared.END_KINDS, REST_KINDS),
    shared.ACCOUNT_KINDS,
)


class Schedule(shared.Schedule):
    """A schedule. seed: decides applications, reviewers, the interleaving and, unless they are listed, the faults."""

    NAME: ClassVar[str] = "people"
    KINDS: ClassVar[Mapping[str, str]] = KINDS
    OWN_CALL_KINDS: ClassVar[Mapping[str, str]] = CALL_KINDS
