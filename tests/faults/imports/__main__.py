"""`python -m tests.faults.imports`: play schedules of imports, or replay one."""

import argparse
import os
import sys
import time

from tests.faults.imports.explore import Totals, explored, print_report
from tests.faults.imports.play import play
from tests.faults.imports.schedule import Schedule
from tests.faults.workers import Workers

_SCHEDULES = 10_000
_TELL_EVERY = 1000


def main() -> int:
    """Exit status: 0 if every invariant held."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.imports", description=__doc__)
    parser.add_argument("scenario", nargs="?", help="one schedule to replay, such as 'imports 17'")
    parser.add_argument("--schedules", type=int, default=_SCHEDULES, help="how many")
    parser.add_argument("--seed", type=int, default=1, help="of the first one")
    arguments = parser.parse_args()
    if not arguments.scenario:
        return _explore(arguments.seed, arguments.schedules)
    try:
        return replay(arguments.scenario)
    except ValueError as error:
        parser.error(str(error))


def replay(scenario: str) -> int:
    """Play one schedule, and print its trace. Raises ValueError."""
    outcome = play(Schedule.parse(scenario))
    _say("\n".join([str(outcome.injected), *outcome.trace]))
    _say(f"{len(outcome.injected.faults or ())} faults injected, {len(outcome.violations)} violations")
    return 1 if outcome.violations else 0


def _explore(first: int, number: int) -> int:
    began = time.monotonic()
    totals = Totals()
    with Workers(dynamodb=os.environ.get("DYNAMODB", "")) as workers:
        for totals in explored(workers.pool, first, number):
            if totals.schedules % _TELL_EVERY == 0:
                _say(f"{totals.schedules:,} of {number:,} schedules, {len(totals.failed)} violations")
    print_report(totals, time.monotonic() - began, workers.count)
    return 1 if totals.failed else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
