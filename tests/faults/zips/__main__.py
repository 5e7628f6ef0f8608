"""`python -m tests.faults.zips`: play schedules of ZIPs, or replay one."""

import sys

from tests.faults.zips.explore import EXPLORER

if __name__ == "__main__":
    sys.exit(EXPLORER.main())
