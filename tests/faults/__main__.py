"""`python -m tests.faults`: try everything, or replay one scenario."""

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future

from tests.faults.commands.explore import EXPLORER as COMMANDS
from tests.faults.edges import KINDS as EDGES
from tests.faults.explore import Singles, pools, random_runs, singles
from tests.faults.explore_edges import edge_singles, wanted_of_others
from tests.faults.faults import KINDS, Fault, listing
from tests.faults.imports.explore import EXPLORER as IMPORTS
from tests.faults.people.explore import EXPLORER as PEOPLE
from tests.faults.play import play
from tests.faults.report import Report
from tests.faults.scenario import Scenario
from tests.faults.seams import DYNAMODB_ENDPOINT
from tests.faults.stock.explore import EXPLORER as STOCK
from tests.faults.tasks.explore import EXPLORER as TASKS
from tests.faults.users.explore import EXPLORER as USERS
from tests.faults.webhooks.explore import EXPLORER as WEBHOOKS
from tests.faults.workers import Result, Wanted, Workers, engine, wanted_dynamodb
from tests.faults.zips.explore import EXPLORER as ZIPS
from tests.kit.engines import dynamodb_local

# Over HTTP a scenario takes several times as long, so leave out pairs.
_SEQUENCES = 4000
_SEQUENCES_OVER_HTTP = 400
_EDGE_PAIRS = 50_000
_TELL_EVERY = 1000


def main() -> int:
    """Run the command. Exit status: 0 if every invariant held."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults",
        description=__doc__,
        epilog=listing({**KINDS, **EDGES}),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "scenario", nargs="?", help="one scenario to replay, such as 'ok: answer lost at ProcessPayment#1.call1'"
    )
    parser.add_argument("--everything", action="store_true", help="all pairs of calls, without the reduction")
    parser.add_argument("--sequences", type=int, help="number of random sequences of three to six faults")
    parser.add_argument("--only", choices=["singles", "calls", "edges"], help="leave the other parts out")
    parser.add_argument("--each", type=int, help="number of single faults of each kind at each state")
    parser.add_argument("--sample", type=int, default=_EDGE_PAIRS, help="number of pairs with a fault at the edges")
    parser.add_argument("--seed", type=int, default=1, help="of the sample and of the random sequences")
    arguments = parser.parse_args()
    try:
        with wanted_dynamodb() as command:
            return _replay(arguments.scenario) if arguments.scenario else _explore(arguments, command)
    except ValueError as error:
        parser.error(str(error))
    except dynamodb_local.Unavailable as reason:
        _say(f"nothing was tried: {reason}")
        return 2


def _explore(arguments: argparse.Namespace, command: str) -> int:
    began = time.monotonic()
    report, in_process = Report(replay=command), DYNAMODB_ENDPOINT not in os.environ
    with Workers() as workers:
        _say(f"{workers.count} processes; single faults come first")
        wanted = wanted_of_others(arguments.seed) if arguments.only in {None, "edges"} else Wanted()
        found = singles(workers, wanted, arguments.each)
        report.add("single faults", _told("single faults", found.results))
        if arguments.only in {None, "edges"}:
            _explore_edges(arguments, workers, report, found, pairs=in_process)
        if arguments.only in {None, "calls"}:
            _explore_calls(arguments, workers, report, found, pairs=in_process)
        report.print(time.monotonic() - began, workers.count)
    return 1 if report.failed else 0


def _explore_edges(
    arguments: argparse.Namespace, workers: Workers, report: Report, others: Singles, *, pairs: bool
) -> None:
    found = edge_singles(workers, others.results, seed=arguments.seed)
    report.add("single faults at the edges", _told("single faults at the edges", found.results))
    if pairs:
        drawn = found.pairs(arguments.sample, arguments.seed)
        report.add("pairs with one of them", _told("pairs", workers.play(drawn), len(drawn)))


def _explore_calls(
    arguments: argparse.Namespace, workers: Workers, report: Report, found: Singles, *, pairs: bool
) -> None:
    if pairs:
        todo = found.pairs(everything=arguments.everything)
        report.add("pairs", _told("pairs", workers.play(todo), len(todo)))
    examples = arguments.sequences
    if examples is None:
        examples = _SEQUENCES if pairs else _SEQUENCES_OVER_HTTP
    report.add("random sequences", _sequences(workers, arguments.seed, examples, pools(found)))


def _told(what: str, results: Iterable[Result], number: int | None = None) -> Iterator[Result]:
    """Pass the results on, printing progress from time to time and each failure at once.

    number: how many results there are, if their length is unknown.
    """
    began, done, failed = time.monotonic(), 0, 0
    for result in results:
        done += 1
        if result.violations:
            failed += 1
            _say(f"VIOLATION {result.scenario}")
        if number and done % _TELL_EVERY == 0:
            seconds = time.monotonic() - began
            left = seconds / done * (number - done)
            _say(f"{done:,} of {number:,} {what}, {failed} violations, {seconds:,.0f} s, about {left:,.0f} s to go")
        yield result
    _say(f"{done:,} {what} are done, {failed} violations")


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


def _replay(text: str) -> int:
    """Play one scenario of orders, or one schedule. Raises ValueError."""
    for explorer in (COMMANDS, IMPORTS, PEOPLE, STOCK, TASKS, USERS, WEBHOOKS, ZIPS):
        if text.startswith(f"{explorer.schedule.NAME} "):
            return explorer.replay(text)
    scenario = Scenario.parse(text)
    outcome = play(engine(), scenario)
    sys.stdout.write("\n".join([str(scenario), *(f"  {line}" for line in outcome.trace), ""]))
    sys.stdout.write(
        f"{outcome.injected} of {len(scenario.faults)} faults injected, {len(outcome.violations)} violations\n"
    )
    return 1 if outcome.violations else 0


if __name__ == "__main__":
    sys.exit(main())
