"""`python -m tests.faults.commands`: play schedules of commands, or replay one."""

import sys

from tests.faults.commands.explore import EXPLORER

if __name__ == "__main__":
    sys.exit(EXPLORER.main())
