"""The fault explorer: injects every known fault into the deployed state machines from outside, one run at a time.

`python -m tests.faults` tries them all; with a scenario as argument it replays that one, step by step.
"""

import sys
from pathlib import Path

# Like pytest's setting in pyproject.toml, for `python -m tests.faults` and its processes.
for _folder in ("src", "functions", "layers/idempotency"):
    _path = str(Path(__file__).parents[2] / _folder)
    if _path not in sys.path:
        sys.path.append(_path)
