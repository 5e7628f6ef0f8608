"""What the end of an execution means for its application. The row says what is true, never a guess."""

from dataclasses import dataclass
from datetime import datetime

from runtime.machine import RUNNING, Execution

from .definition import APPROVED
from .errors import AccountNotOpened, SetupRunning, StaleApplication
from .machines import SUCCEEDED, Machine
from .openings import Openings


@dataclass(frozen=True, slots=True)
class Ending:
    """opening, setup: the machines account-opening and account-setup."""

    openings: Openings
    opening: Machine
    setup: Machine

    def end(self, application_id: str, status: str, at: datetime) -> bool:
        """Fail an application whose execution ended without deciding it. Returns whether this call has failed it.

        An execution that was redriven decides it yet. While account-setup runs, or once it has begun an account, the
        application is as account-setup ends. Raises ExecutionsUnavailable, StoreUnavailable.
        status: how the execution ended, for one that Step Functions has forgotten.
        """
        # In this order: a review that is requested after the row was read bars the write.
        seen = self.openings.find(application_id)
        if seen is None or not seen.undecided:
            return False
        execution = self.opening.find(application_id) or Execution(status)
        if not execution.ended_after(seen.review_asked_at, at):
            return False
        if self.setup.status(application_id) in (RUNNING, SUCCEEDED):
            return False
        return self.openings.fail(seen, f"Execution.{execution.status}", at)


def read_outcome(openings: Openings, setup: Machine, application_id: str) -> dict[str, str]:
    """Read how an account-setup that was started before has ended. Returns {"status": "APPROVED"}.

    Raises AccountNotOpened, SetupRunning (also until the row says what it came to), StaleApplication.
    """
    found = openings.find(application_id)
    if found is None:
        raise StaleApplication(f"{application_id}: no such application")
    if found.status == APPROVED:
        return {"status": APPROVED}
    if found.undecided and setup.status(application_id) in (RUNNING, SUCCEEDED):
        raise SetupRunning(f"{application_id}: account-setup has not ended")
    raise AccountNotOpened(f"{application_id}: account-setup has not approved it")
