"""`python -m tests.faults.people`: play schedules of applications, or replay one."""

import sys

from tests.faults.people.explore import EXPLORER

if __name__ == "__main__":
    sys.exit(EXPLORER.main())
