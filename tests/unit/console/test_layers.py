"""The layered layout: nothing overlaps, edges lead down, few cross."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwise.console.runs.layers import Edge, Laid, laid_out

SIZE = (100.0, 30.0)


def drawn(names: str, *edges: str) -> Laid:
    """A layout of boxes named by one letter; an edge is two letters."""
    return laid_out(dict.fromkeys(names, SIZE), [Edge(*edge) for edge in edges])


def overlap(laid: Laid, sizes: dict[str, tuple[float, float]]) -> list[tuple[str, str]]:
    def apart(one: str, other: str) -> bool:
        return any(
            abs(laid.places[one][axis] - laid.places[other][axis]) + 1e-6 >= (sizes[one][axis] + sizes[other][axis]) / 2
            for axis in (0, 1)
        )

    return [pair for pair in combinations(laid.places, 2) if not apart(*pair)]


def test_chain_is_straight_down() -> None:
    laid = drawn("abc", "ab", "bc")

    assert {x for x, _ in laid.places.values()} == {50.0}
    assert [y for _, y in laid.places.values()] == sorted(y for _, y in laid.places.values())


def test_empty_graph_is_drawn() -> None:
    assert laid_out({}, []) == Laid(0, 0, {}, [])


def test_branches_are_beside_one_another() -> None:
    laid = drawn("abcd", "ab", "ac", "bd", "cd")

    assert laid.places["b"][1] == laid.places["c"][1]
    assert abs(laid.places["b"][0] - laid.places["c"][0]) >= SIZE[0]
    assert laid.places["a"][0] == pytest.approx(laid.places["d"][0])


def test_back_edge_ends_at_an_upper_box() -> None:
    laid = drawn("abc", "ab", "bc", "cb")
    back = laid.ways[2]

    assert back[0][1] > back[-1][1]
    assert laid.places["a"][1] < laid.places["b"][1] < laid.places["c"][1]


def test_long_edge_passes_beside_the_boxes_between() -> None:
    laid = drawn("abcd", "ab", "bc", "cd", "ad")

    for (x, y), (_, below) in pairwise(laid.ways[3]):
        inside = [name for name in "bc" if y <= laid.places[name][1] <= below]
        assert all(abs(x - laid.places[name][0]) > SIZE[0] / 2 for name in inside)


def test_avoidable_crossings_are_avoided() -> None:
    laid = drawn("abcdef", "ab", "ac", "bf", "ce", "cd")
    order = sorted("edf", key=lambda name: laid.places[name][0])

    assert (laid.places["b"][0] < laid.places["c"][0]) == (order.index("f") == 0)


def test_self_edge_is_harmless() -> None:
    assert set(drawn("ab", "aa", "ab").places) == {"a", "b"}


@given(st.data())
def test_boxes_of_any_graph_do_not_overlap(data: st.DataObject) -> None:
    names = [f"n{number}" for number in range(data.draw(st.integers(1, 12)))]
    side = st.floats(10, 400)
    sizes = {name: (data.draw(side), data.draw(side)) for name in names}
    name = st.sampled_from(names)
    edges = [Edge(*pair) for pair in data.draw(st.lists(st.tuples(name, name), max_size=25))]
    laid = laid_out(sizes, edges)

    assert overlap(laid, sizes) == []
    assert len(laid.ways) == len(edges)
    assert all(laid.places[one][0] - sizes[one][0] / 2 + 1e-6 >= 0 for one in names)
    assert all(laid.places[one][0] + sizes[one][0] / 2 <= laid.width + 1e-6 for one in names)
