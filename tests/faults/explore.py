"""Which scenarios are tried: all single faults, all pairs of them, and random longer sequences."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.faults import faults as f
from tests.faults.engine import SAGA
from tests.faults.faults import Fault
from tests.faults.scenario import ORDERS, Scenario
from tests.faults.workers import Result, Workers, played

# In pairs one kind stands for all that do the same to the tables and to the machine.
_STAND_INS = {
    f.UNREACHABLE: f.THROTTLED,
    f.ANSWER_LOST_ONCE: f.ANSWER_LOST,
    f.TIMED_OUT_BEFORE: f.DIES_BEFORE,
    f.TIMED_OUT_AFTER: f.ANSWER_LOST,
    f.PUBLISH_FAILS: f.PUBLISH_ALWAYS_FAILS,
    f.TWIN_AFTER: f.TWIN_AT,
    f.ABORTED_BEFORE: f.ABORTED_AFTER,
    f.EXECUTION_TIMED_OUT_BEFORE: f.ABORTED_AFTER,
    f.EXECUTION_TIMED_OUT_AFTER: f.ABORTED_AFTER,
    f.RUNTIME_ERROR_BEFORE: f.RUNTIME_ERROR_AFTER,
    f.FAILS_BEFORE: f.THROTTLED,
    f.FAILS_AFTER: f.ANSWER_LOST,
    f.GARBLED: f.ANSWER_LOST,
    f.DELIVERED_TWICE: f.DELIVERED_AGAIN,
}
# Orders whose pairs are not tried: "several lines" goes the way of "ok", call by call.
_SINGLES_ONLY = {"several lines"}
# What a gateway changes is in these; the rest goes the way of the same order without one.
_OF_PAYMENT = {"ProcessPayment", "ProcessRefund", SAGA}
LONGEST = 6
SHORTEST = 3


@dataclass(frozen=True, slots=True)
class Singles:
    """results: of each single fault. candidates: by single fault, what else can strike the same run."""

    results: Sequence[Result]

    def pool(self, order: str) -> list[Fault]:
        """Every fault that was seen to be possible in some run of an order."""
        found: dict[Fault, None] = {}
        for result in self._of(order):
            found.update(dict.fromkeys([*result.scenario.faults, *result.candidates]))
        return list(found)

    def pairs(self, *, everything: bool = False) -> list[Scenario]:
        """Each single fault with each other fault that can strike the run which it leads to.

        The second is taken from the run that the first makes, so that faults of compensations, retries and recovery
        are reached that no clean run shows. Unless `everything` is asked for, one kind stands for all with the same
        effect, and work lands in a pair at the first state, between the calls of others, after the saga and at
        last, but not before each state; the order of several lines is left to single faults. Of an order that is
        charged at the gateway, one fault at least strikes its payment or what undoes it, and work lands at calls of
        these alone.
        """
        pairs: dict[tuple[str, frozenset[Fault]], Scenario] = {}
        for order in ORDERS:
            if order in _SINGLES_ONLY and not everything:
                continue
            for result in self._of(order):
                if not result.scenario.faults:
                    continue
                (first,) = result.scenario.faults
                for second in result.candidates:
                    if second == first or not (everything or _kept(order, first, second, result.candidates)):
                        continue
                    pairs.setdefault((order, frozenset((first, second))), Scenario(order, (first, second)))
        return list(pairs.values())

    def _of(self, order: str) -> Iterator[Result]:
        return (result for result in self.results if result.scenario.order == order)


def _kept(order: str, first: Fault, second: Fault, candidates: Iterable[Fault]) -> bool:
    faults = (first, second)
    if ORDERS[order].gateway and not (any(map(_of_payment, faults)) and all(map(_lands_there, faults))):
        return False
    return all(_telling(fault, candidates) for fault in faults)


def _of_payment(fault: Fault) -> bool:
    return fault.step.removeprefix("recovery.") in _OF_PAYMENT


def _lands_there(fault: Fault) -> bool:
    """Whether work that lands between the calls of an invocation lands in one of payment."""
    kind, _, place = fault.landing.partition(" ")
    return kind != "at" or place == "last" or _of_payment(Fault(fault.kind, place))


def _telling(fault: Fault, candidates: Iterable[Fault]) -> bool:
    if fault.kind in _STAND_INS or fault.landing == f.AFTER_SETTLEMENT:
        return False
    if not fault.landing.startswith("before "):
        return True
    same = (other for other in candidates if (other.kind, other.at) == (fault.kind, fault.at))
    return next(same, fault) == fault


def singles(workers: Workers) -> Singles:
    """Play every order without a fault, then with each single fault."""
    clean = workers.play((Scenario(order) for order in ORDERS), candidates=True)
    results = list(clean)
    todo = [Scenario(result.scenario.order, (fault,)) for result in results for fault in result.candidates]
    return Singles([*results, *workers.play(todo, candidates=True)])


def random_runs(number: int, examples: int, pools: Mapping[str, Sequence[Fault]]) -> list[Result]:
    """Random sequences of faults, in this process. number: the seed. What fails is shrunk; the last result is it."""
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
    """Three to six faults that can strike one order, each seen to be possible in some run of it."""
    orders = st.sampled_from(sorted(pools))
    return orders.flatmap(
        lambda order: st.builds(
            Scenario,
            st.just(order),
            st.lists(st.sampled_from(pools[order]), min_size=SHORTEST, max_size=LONGEST, unique=True).map(tuple),
        )
    )


def pools(found: Singles) -> dict[str, list[Fault]]:
    """The faults of each order, to draw sequences from."""
    return {order: found.pool(order) for order in ORDERS}
