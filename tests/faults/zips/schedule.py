"""Schedules of ZIPs, with the faults of imports, and those of a state that waits for a token."""

from collections.abc import Mapping
from typing import ClassVar

from tests.faults.imports import schedule as imports

TIMED_OUT_WAITING = "timed out waiting at"
ANSWERED_TWICE = "answered twice at"

WAIT_KINDS = {
    TIMED_OUT_WAITING: "the state times out before its token is answered",
    ANSWERED_TWICE: "the sweep of ZIPs answers the token, too, minutes apart or at once",
}
KINDS: Mapping[str, str] = {**imports.KINDS, **WAIT_KINDS}


class Schedule(imports.Schedule):
    """A schedule. seed: decides the archive, the interleaving and, unless they are listed, the faults."""

    NAME: ClassVar[str] = "zips"
    KINDS: ClassVar[Mapping[str, str]] = KINDS
