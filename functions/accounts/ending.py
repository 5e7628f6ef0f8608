"""What the end of an execution means for its application. The row says what is true, never a guess."""

from dataclasses import dataclass
from datetime import datetime

from .definition import APPROVED
from .errors import AccountNotOpened, SetupRunning, StaleApplication
from .machines import RUNNING, SUCCEEDED, Machine
from .openings import Openings


@dataclass(frozen=True, slots=True)
class Ending:
    """setup: the machine account-setup."""

    openings: Openings
    setup: Machine

    def end(self, application_id: str, status: str, at: datetime) -> bool:
        """Fail an application whose execution ended without deciding it. Whether it has failed by this call.

        While account-setup runs, or once it has begun an account, the application is as account-setup ends.
        Raises ExecutionsUnavailable, StoreUnavailable. status: how the execution ended.
        """
        if self.setup.status(application_id) in (RUNNING, SUCCEEDED):
            return False
        return self.openings.fail(application_id, f"Execution.{status}", at)

    def outcome(self, application_id: str) -> dict[str, str]:
        """How an account-setup that was started before has ended. Returns {"status": "APPROVED"}.

        Raises AccountNotOpened, SetupRunning (also until the row says what it came to), StaleApplication.
        """
        found = self.openings.find(application_id)
        if found is None:
            raise StaleApplication(f"{application_id}: no such application")
        if found.status == APPROVED:
            return {"status": APPROVED}
        if found.undecided and self.setup.status(application_id) in (RUNNING, SUCCEEDED):
            raise SetupRunning(f"{application_id}: account-setup has not ended")
        raise AccountNotOpened(f"{application_id}: account-setup has not approved it")
