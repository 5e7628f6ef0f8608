"""`python -m tests.faults.mutate`: search for every mutant of every explorer, and note each find in finds.json."""

import json
import sys
from typing import Any

from tests.faults import finds
from tests.faults.commands import explore as commands
from tests.faults.hunt import ORDERS, hunt
from tests.faults.imports import explore as imports
from tests.faults.mutant import MUTANTS
from tests.faults.people import explore as people
from tests.faults.stock import explore as stock
from tests.faults.tasks import explore as tasks
from tests.faults.users import explore as users
from tests.faults.webhooks import explore as webhooks
from tests.faults.workers import Workers
from tests.faults.zips import explore as zips

EXPLORERS: tuple[Any, ...] = (commands, imports, people, stock, tasks, users, webhooks, zips)


def main() -> int:
    """Run the command. Exit status 1 if an explorer misses a mutant."""
    found: dict[str, dict[str, Any]] = {}
    # A worker holds one engine.
    for explorer in EXPLORERS:
        with Workers() as workers:
            futures = {name: workers.pool.submit(explorer.hunt, name) for name in explorer.MUTANTS}
            findings = {name: future.result() for name, future in futures.items()}
        found[explorer.Schedule.NAME] = {name: finding.seed for name, finding in findings.items()}
    with Workers() as workers:
        runs = {
            name: future.result()
            for name, future in {name: workers.pool.submit(hunt, name) for name in MUTANTS}.items()
        }
    found[ORDERS] = {name: str(run.result.scenario) if run.result else "" for name, run in runs.items()}
    finds.FILE.write_text(json.dumps(found, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    missed = [
        f"{explorer}: {name}" for explorer, entries in found.items() for name, place in entries.items() if not place
    ]
    sys.stdout.write("".join(f"not found: {name}\n" for name in missed))
    return min(len(missed), 1)


if __name__ == "__main__":
    sys.exit(main())
