"""What the marks of a test say of an engine: `untrue` fails until the engine does as AWS does, `unfit` is left out."""

from collections.abc import Iterable

import pytest


def engine_of(item: pytest.Item) -> object:
    """The name of the engine that a test runs on, if it is one of several."""
    callspec = getattr(item, "callspec", None)
    return callspec and next(
        (callspec.params[name] for name in ("database", "engine") if name in callspec.params), None
    )


def heed(items: Iterable[pytest.Item]) -> None:
    """Expect of each engine what the marks say."""
    for item in items:
        for mark in item.iter_markers("untrue"):
            if mark.args == (engine_of(item),):
                item.add_marker(pytest.mark.xfail(strict=True, **mark.kwargs))
        for mark in item.iter_markers("unfit"):
            if mark.args == (engine_of(item),):
                item.add_marker(pytest.mark.skip(**mark.kwargs))
