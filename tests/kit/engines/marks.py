"""Marks of a test for an engine: `untrue` fails until the engine behaves like AWS, `unfit` is deselected."""

from collections.abc import Iterable

import pytest


def engine_of(item: pytest.Item) -> object:
    """The name of a test's engine, if there are several."""
    callspec = getattr(item, "callspec", None)
    return callspec and next(
        (callspec.params[name] for name in ("database", "engine") if name in callspec.params), None
    )


def heed(items: Iterable[pytest.Item]) -> None:
    """Apply the marks to each engine."""
    for item in items:
        for mark in item.iter_markers("untrue"):
            if mark.args == (engine_of(item),):
                item.add_marker(pytest.mark.xfail(strict=True, **mark.kwargs))
        for mark in item.iter_markers("unfit"):
            if mark.args == (engine_of(item),):
                item.add_marker(pytest.mark.skip(**mark.kwargs))
