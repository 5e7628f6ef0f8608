"""The explorer: every fault that it knows, brought into the deployed state machines from outside, one run at a time.

`python -m tests.faults` tries them all; with a scenario as its argument it replays that one, step by step.
"""

import sys
from pathlib import Path

# As pytest does it from pyproject.toml, for `python -m tests.faults` and for processes that it starts.
for _folder in ("functions", "layers/idempotency"):
    _path = str(Path(__file__).parents[2] / _folder)
    if _path not in sys.path:
        sys.path.append(_path)
