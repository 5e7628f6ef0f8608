"""Starts account-opening, and ends applications of which it has ended undecided; makes up for lost records and events.

The row says what is true, never a guess.
"""

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from idempotency import StateConflict
from runtime.machine import RUNNING, SUCCEEDED, Execution, Machine
from runtime.streams import Record, images
from runtime.sweep import Sweep, in_turns

from .definition import APPROVED, IN_REVIEW, SUBMITTED
from .errors import AccountNotOpened, SetupRunning, StaleApplication
from .requests import setup_input
from .state import Application
from .table import Applications

# Each costs a DescribeExecution or two. Other functions share the quota: a burst of 300, refilled by 15 a second.
MAX_LOOKED_AT = 200
# The stream starts an application within seconds.
_GRACE = timedelta(minutes=1)
# Three sweeps have seen it by then, and its checks have ended.
_YOUNG = timedelta(minutes=15)


def start(record: Record, opening: Machine) -> None:
    """Start the execution of an application, if the record is of its new row. opening: the machine."""
    _, image = images(record)
    # A setup that was started by hand leaves a row of no application.
    if record.get("eventName") == "INSERT" and image and image["status"]["S"] == SUBMITTED:
        _start(opening, image["application_id"]["S"])


def _start(opening: Machine, application_id: str) -> None:
    opening.start(application_id, setup_input(application_id))


def read_outcome(applications: Applications, setup: Machine, application_id: str) -> dict[str, str]:
    """Read how an account-setup that was started before has ended. Returns {"status": "APPROVED"}.

    Raises AccountNotOpened, SetupRunning (also until the row says what it came to), StaleApplication.
    """
    found = applications.find(application_id)
    if found is None:
        raise StaleApplication(f"{application_id}: no such application")
    if found.status == APPROVED:
        return {"status": APPROVED}
    if found.undecided and setup.status(application_id) in (RUNNING, SUCCEEDED):
        raise SetupRunning(f"{application_id}: account-setup has not ended")
    raise AccountNotOpened(f"{application_id}: account-setup has not approved it")


@dataclass(frozen=True, slots=True)
class Recovery:
    """opening, setup: the machines account-opening and account-setup; their executions are named by application."""

    applications: Applications
    opening: Machine
    setup: Machine

    def end(self, application_id: str, status: str, at: datetime) -> bool:
        """Fail an application whose execution ended without deciding it. Returns whether this call has failed it.

        An execution that was redriven decides it yet. While account-setup runs, or once it has begun an account, the
        application is as account-setup ends. Raises ExecutionsUnavailable, StoreUnavailable.
        status: how the execution ended, for one that Step Functions has forgotten.
        """
        # In this order: a review that is requested after the row was read bars the write.
        seen = self.applications.find(application_id)
        if seen is None or not seen.undecided:
            return False
        execution = self.opening.find(application_id) or Execution(status)
        if not execution.ended_after(seen.review_asked_at, at):
            return False
        if self.setup.status(application_id) in (RUNNING, SUCCEEDED):
            return False
        return self.applications.fail(seen, f"Execution.{execution.status}", at)

    def sweep(self, at: datetime, time_left: Callable[[], bool]) -> dict[str, int]:
        """Look at what is young or decided, and at some of the others.

        Returns how many applications are open, and what was done. Raises SweepUnfinished.
        """
        found = list(self.applications.open())
        sweep = Sweep[Application](
            "application",
            lambda seen: self._review(seen.application_id, at),
            lambda seen: {"application_id": seen.application_id},
        )
        # If time runs out, it must not always run out for the same applications.
        swept = sweep.run(in_turns(_chosen(found, at), lambda _: ""), time_left)
        return swept.report(("running", "started", "ended", "closed", "finalizing"), open=len(found))

    def _review(self, application_id: str, at: datetime) -> str:
        """Return what was done. `finalizing`: account-setup has begun an account, and its finalization decides."""
        found = self.applications.find(application_id)
        if found is None or found.open_since is None or found.open_since + _GRACE > at:
            return "running"
        if not found.undecided:
            self.applications.close(application_id)
            return "closed"
        status = self.opening.status(application_id)
        if status is None:
            _start(self.opening, application_id)
            return "started"
        if status == RUNNING:
            return "running"
        if self.end(application_id, status, at):
            return "ended"
        self._hand_over(application_id, at)
        return "finalizing"

    def _hand_over(self, application_id: str, at: datetime) -> None:
        """List an undecided application whose setup succeeded, so that the sweep of setups decides it.

        The setup had approved the application, and a restore has undone the approval.
        """
        if self.setup.status(application_id) == SUCCEEDED:
            with suppress(StateConflict):
                self.applications.begin(application_id, at)


def _chosen(found: Sequence[Application], at: datetime) -> list[Application]:
    """Choose those to look at. A review lasts for days, so most of what is open waits."""
    waiting = [seen for seen in found if _waits(seen, at)]
    some = random.sample(waiting, min(len(waiting), MAX_LOOKED_AT))  # nosec B311
    return [*(seen for seen in found if not _waits(seen, at)), *some]


def _waits(seen: Application, at: datetime) -> bool:
    is_old = seen.open_since is not None and seen.open_since + _YOUNG <= at
    return seen.undecided and (is_old or seen.status == IN_REVIEW)
