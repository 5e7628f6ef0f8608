"""`python -m tests.faults`: try everything, or replay one scenario."""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future

from tests.engines import dynamodb_local
from tests.faults.explore import pools, random_runs, singles
from tests.faults.faults import Fault
from tests.faults.play import play
from tests.faults.report import Report
from tests.faults.scenario import Scenario
from tests.faults.seams import DYNAMODB_ENDPOINT
from tests.faults.workers import Result, Workers, engine

# Over HTTP a scenario takes several times as long: there, pairs are left out.
_SEQUENCES = 4000
_SEQUENCES_OVER_HTTP = 400
_TELL_EVERY = 5000


def main() -> int:
    """Exit status: 0 if every law held."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument(
        "scenario", nargs="?", help="one scenario to replay, such as 'ok: answer lost at ProcessPayment#1.call1'"
    )
    parser.add_argument("--everything", action="store_true", help="all pairs, without the reduction")
    parser.add_argument("--sequences", type=int, help="how many random sequences of three to six faults")
    parser.add_argument("--seed", type=int, default=1, help="of the random sequences")
    arguments = parser.parse_args()
    dynamodb = os.environ.get("DYNAMODB", "")
    try:
        scenario = Scenario.parse(arguments.scenario) if arguments.scenario else None
    except ValueError as error:
        parser.error(str(error))
    try:
        return _replay(scenario, dynamodb) if scenario else _explore(arguments, dynamodb)
    except dynamodb_local.Unavailable as reason:
        _say(f"nothing was tried: {reason}")
        return 2


def _explore(arguments: argparse.Namespace, dynamodb: str) -> int:
    began = time.monotonic()
    report = Report(replay="make faults DYNAMODB=local" if dynamodb == "local" else "make faults")
    with Workers(dynamodb=dynamodb) as workers:
        found = singles(workers)
        report.add("single faults", found.results)
        if dynamodb != "local":
            pairs = found.pairs(everything=arguments.everything)
            _say(f"{len(found.results):,} single faults are done, {len(pairs):,} pairs are to do")
            report.add("pairs", _told(workers.play(pairs)))
        examples = arguments.sequences
        if examples is None:
            examples = _SEQUENCES_OVER_HTTP if dynamodb == "local" else _SEQUENCES
        report.add("random sequences", _sequences(workers, arguments.seed, examples, pools(found)))
        report.print(time.monotonic() - began, workers.count)
    return 1 if report.failed else 0


def _told(results: Iterable[Result]) -> Iterator[Result]:
    """The same results; a line from time to time says how many they are, and each failure is told at once."""
    for number, result in enumerate(results, start=1):
        if number % _TELL_EVERY == 0:
            _say(f"{number:,} pairs are done")
        if result.violations:
            _say(f"VIOLATION {result.scenario}")
        yield result


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _sequences(workers: Workers, seed: int, examples: int, drawn: Mapping[str, Sequence[Fault]]) -> list[Result]:
    if not examples:
        return []
    each = -(-examples // workers.count)
    futures: list[Future[list[Result]]] = [
        workers.pool.submit(random_runs, seed + index, each, drawn) for index in range(workers.count)
    ]
    return [result for future in futures for result in future.result()]


def _replay(scenario: Scenario, dynamodb: str) -> int:
    if dynamodb == "local":
        with dynamodb_local.serving() as endpoint:
            os.environ[DYNAMODB_ENDPOINT] = endpoint
            return _replay(scenario, "")
    outcome = play(engine(), scenario)
    sys.stdout.write("\n".join([str(scenario), *(f"  {line}" for line in outcome.trace), ""]))
    sys.stdout.write(
        f"{outcome.struck} of {len(scenario.faults)} faults struck, {len(outcome.violations)} violations\n"
    )
    return 1 if outcome.violations else 0


if __name__ == "__main__":
    sys.exit(main())
