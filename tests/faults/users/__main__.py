"""`python -m tests.faults.users`: play schedules of user imports, or replay one."""

import sys

from tests.faults.users.explore import EXPLORER

if __name__ == "__main__":
    sys.exit(EXPLORER.main())
