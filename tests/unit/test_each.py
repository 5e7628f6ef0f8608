"""`each` fails with every failing value."""

import pytest

from tests.kit.each import each


@pytest.fixture
def limit() -> int:
    return 2


@each("number", [1, 2])
@each(("name", "size"), {"a": 1, "b": 2}.items())
def test_all_values_are_tested_with_fixtures(number: int, name: str, size: int, limit: int) -> None:
    assert number <= limit
    assert size <= limit
    assert name in "ab"


def test_every_failure_is_reported_with_its_value() -> None:
    @each("number", [1, 5, 2, 7], ids=lambda number: f"n{number}")
    def small(number: int, limit: int) -> None:
        assert number <= limit

    with pytest.raises(ExceptionGroup, match="2 of 4 failed") as found:
        small(limit=3)
    assert [one.__notes__ for one in found.value.exceptions] == [["['number']: n5"], ["['number']: n7"]]


def test_empty_parameter_list_fails() -> None:
    @each("number", [])
    def never(number: int) -> None:
        raise RuntimeError(number)

    with pytest.raises(AssertionError):
        never()
