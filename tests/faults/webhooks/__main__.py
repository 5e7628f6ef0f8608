"""`python -m tests.faults.webhooks`: play schedules of webhooks, or replay one."""

import sys

from tests.faults.webhooks.explore import EXPLORER

if __name__ == "__main__":
    sys.exit(EXPLORER.main())
