"""Scenarios to try: all single faults, all pairs, and random longer sequences."""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.faults import faults as f
from tests.faults.faults import Fault
from tests.faults.scenario import ORDERS, Scenario
from tests.faults.workers import Result, Wanted, Workers, played

# In pairs, one kind represents all kinds with the same effect on the tables and the machine.
_REPRESENTED_BY = {
    f.UNREACHABLE: f.THROTTLED,
    f.ANSWER_LOST_ONCE: f.ANSWER_LOST,
    f.TIMED_OUT_BEFORE: f.DIES_BEFORE,
    f.TIMED_OUT_AFTER: f.ANSWER_LOST,
    f.PUBLISH_FAILS: f.PUBLISH_ALWAYS_FAILS,
    f.DUPLICATE_AFTER: f.DUPLICATE_AT,
    f.ABORTED_BEFORE: f.ABORTED_AFTER,
    f.EXECUTION_TIMED_OUT_BEFORE: f.ABORTED_AFTER,
    f.EXECUTION_TIMED_OUT_AFTER: f.ABORTED_AFTER,
    f.RUNTIME_ERROR_BEFORE: f.RUNTIME_ERROR_AFTER,
    f.FAILS_BEFORE: f.THROTTLED,
    f.FAILS_AFTER: f.ANSWER_LOST,
    f.GARBLED: f.ANSWER_LOST,
    f.DELIVERED_TWICE: f.DELIVERED_AGAIN,
}
# Orders without pairs: "several lines" makes the same calls as "ok".
_SINGLES_ONLY = {"several lines"}
# A gateway changes these steps and outside faults. The rest runs like an order without a gateway.
_OF_PAYMENT = {"ProcessPayment", "ProcessRefund"}
_OUTSIDE = f.GATEWAY_FUNCTION_KINDS.keys() | f.STRAY_KINDS.keys()
_OF_EVERYBODY = f.STATE_KINDS.keys() | f.EVENT_KINDS.keys() | _OUTSIDE
# Later attempts run like this one.
_LAST_ATTEMPT = 3
LONGEST = 6
SHORTEST = 3
_EVERYTHING = Wanted()


@dataclass(frozen=True, slots=True)
class Singles:
    """Results of each order without a fault and with each single fault; each lists its run's further faults."""

    results: Sequence[Result]

    def pool(self, order: str) -> list[Fault]:
        """Return every fault that was possible in some run of an order."""
        found: dict[Fault, None] = {}
        for result in self._of(order):
            found.update(dict.fromkeys([*result.scenario.faults, *result.candidates]))
        return list(found)

    def pairs(self, *, everything: bool = False) -> list[Scenario]:
        """Return each single fault with each other fault that is possible in the run it leads to.

        The second is taken from the run of the first, so that faults of compensations, retries and recovery are reached
        that no clean run shows. Unless `everything` is set, one kind stands for all with the same effect, and work
        lands in a pair at the first state, between the calls of others, after the saga and at last, but not before each
        state; the order of several lines is left to single faults. For an order charged at the gateway, at least one
        fault is on the way to it, and work lands only at calls of payment.
        """
        pairs: dict[tuple[str, frozenset[Fault]], Scenario] = {}
        for order in ORDERS:
            if order in _SINGLES_ONLY and not everything:
                continue
            by_gateway = _ByGateway.of(self.pool(order)) if ORDERS[order].gateway and not everything else None
            for result in self._of(order):
                if not result.scenario.faults:
                    continue
                (first,) = result.scenario.faults
                for second in result.candidates:
                    if second == first or not (everything or _kept(first, second, result.candidates)):
                        continue
                    if by_gateway and not by_gateway.keeps(first, second):
                        continue
                    pairs.setdefault((order, frozenset((first, second))), Scenario(order, (first, second)))
        return list(pairs.values())

    def _of(self, order: str) -> Iterator[Result]:
        return (result for result in self.results if result.scenario.order == order)


def _kept(first: Fault, second: Fault, candidates: Iterable[Fault]) -> bool:
    return all(_telling(fault, candidates) for fault in (first, second))


@dataclass(frozen=True, slots=True)
class _ByGateway:
    """The pairs to try for an order charged at a gateway. calls: the places of requests to it."""

    calls: frozenset[str]

    @classmethod
    def of(cls, pool: Iterable[Fault]) -> "_ByGateway":
        return cls(frozenset(fault.at for fault in pool if fault.kind in f.GATEWAY_KINDS))

    def keeps(self, *faults: Fault) -> bool:
        return any(map(self._is_on_the_way, faults)) and all(map(self._tells, faults))

    def _is_on_the_way(self, fault: Fault) -> bool:
        return fault.at in self.calls or fault.kind in _OUTSIDE

    def _tells(self, fault: Fault) -> bool:
        attempt = fault.at.partition("#")[2].partition(".")[0]
        return int(attempt or 0) <= _LAST_ATTEMPT and _lands_in_payment(fault)


def _is_of_payment(fault: Fault) -> bool:
    return fault.step.rpartition(".")[2] in _OF_PAYMENT


def _lands_in_payment(fault: Fault) -> bool:
    """True if the fault's work lands between calls of a payment function."""
    kind, _, place = fault.landing.partition(" ")
    return kind != "at" or place == "last" or _is_of_payment(Fault(fault.kind, place))


def _telling(fault: Fault, candidates: Iterable[Fault]) -> bool:
    if fault.kind in _REPRESENTED_BY or fault.landing == f.AFTER_FINALIZATION:
        return False
    if not fault.landing.startswith("before "):
        return True
    same = (other for other in candidates if (other.kind, other.at) == (fault.kind, fault.at))
    return next(same, fault) == fault


def singles(workers: Workers, wanted: Wanted = _EVERYTHING, each: int | None = None) -> Singles:
    """Play every order without a fault, then with each single fault.

    For an order charged at a gateway: the faults of its payment, of the executions, and from outside.
    wanted: candidates of the results; the orders without a fault have all.
    each: at most this many of each kind of fault at each state and landing, over all orders.
    """
    clean = workers.play((Scenario(order) for order in ORDERS), replace(wanted, candidates=None))
    results = list(clean)
    todo = [
        Scenario(result.scenario.order, (fault,))
        for result in results
        for fault in result.candidates
        if not ORDERS[result.scenario.order].gateway or _is_of_payment(fault) or fault.kind in _OF_EVERYBODY
    ]
    return Singles([*results, *(workers.play(todo, wanted) if each is None else _drawn(workers, todo, wanted, each))])


def _drawn(workers: Workers, todo: Sequence[Scenario], wanted: Wanted, each: int) -> Iterator[Result]:
    """Draw faults, identically in every run, each order as often as it has faults. A fault not injected is redrawn."""
    left: dict[tuple[str, ...], list[Scenario]] = defaultdict(list)
    for scenario in random.Random(1).sample(todo, len(todo)):  # noqa: S311
        left[_group(scenario)].append(scenario)
    missing = dict.fromkeys(left, each)
    while drawn := [left[group].pop() for group, number in missing.items() for _ in left[group][:number]]:
        for result in workers.play(drawn, wanted):
            missing[_group(result.scenario)] -= result.injected
            yield result


def _group(scenario: Scenario) -> tuple[str, ...]:
    (fault,) = scenario.faults
    return fault.kind, fault.step, fault.landing.partition(" ")[0]


def random_runs(number: int, examples: int, pools: Mapping[str, Sequence[Fault]]) -> list[Result]:
    """Play random sequences of faults, in this process. number: the seed. Failures are shrunk into the last result."""
    results: list[Result] = []

    @seed(number)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(scenarios(pools))
    def explore(scenario: Scenario) -> None:
        result = played(scenario)
        results.append(result)
        assert not result.violations, str(scenario)

    try:
        explore()
    except AssertionError:
        failing = [result for result in results if result.violations]
        return [result for result in results if not result.violations] + failing[-1:]
    return results


def scenarios(pools: Mapping[str, Sequence[Fault]]) -> st.SearchStrategy[Scenario]:
    """Generate three to six faults of one order, each possible in some run of it."""
    orders = st.sampled_from(sorted(pools))
    return orders.flatmap(
        lambda order: st.builds(
            Scenario,
            st.just(order),
            st.lists(st.sampled_from(pools[order]), min_size=SHORTEST, max_size=LONGEST, unique=True).map(tuple),
        )
    )


def pools(found: Singles) -> dict[str, list[Fault]]:
    """Collect the faults of each order, to draw sequences from."""
    return {order: found.pool(order) for order in ORDERS}
