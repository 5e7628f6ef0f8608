"""`python -m tests.faults.imports`: play schedules of imports, or replay one."""

import sys

from tests.faults.imports.explore import EXPLORER

if __name__ == "__main__":
    sys.exit(EXPLORER.main())
