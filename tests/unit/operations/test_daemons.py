"""Calls for many items, with limited concurrency."""

import threading

import pytest

from stepwise.operations.daemons import mapped


def test_results_keep_the_order_of_the_items_and_concurrency_is_limited() -> None:
    both = threading.Barrier(2, timeout=60)

    def call(number: int) -> int:
        both.wait()
        return number * 2

    assert mapped(call, range(10), 2) == list(range(0, 20, 2))
    assert mapped(call, [], 2) == []


def test_first_error_is_raised() -> None:
    with pytest.raises(IndexError):
        mapped([1].__getitem__, [0, 1, 0], 2)
