"""`python -m tests.faults.stock`: play schedules of a hot SKU, or replay one."""

import sys

from tests.faults.stock.explore import EXPLORER

if __name__ == "__main__":
    sys.exit(EXPLORER.main())
