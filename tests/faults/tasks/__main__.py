"""`python -m tests.faults.tasks`: play schedules of tasks, or replay one."""

import sys

from tests.faults.tasks.explore import EXPLORER

if __name__ == "__main__":
    sys.exit(EXPLORER.main())
