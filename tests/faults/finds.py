"""The last schedule, or scenario of an order, that found each mutant: tried first, so that a search is short.

`make mutants` searches for all again and writes the file. An entry that no longer finds its mutant costs one schedule.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("finds.json")


@cache
def _all() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text())
    return found


def of(explorer: str) -> Mapping[str, Any]:
    """Return the seed of a schedule for each mutant of an explorer; for orders, the text of a scenario."""
    return _all().get(explorer, {})
