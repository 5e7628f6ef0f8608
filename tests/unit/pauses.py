"""Pauses that tests skip or record, and a fixture for the conftest.py of contexts that write to entities' tables."""

import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest

from runtime import backoff


def replace_sleep(
    monkeypatch: pytest.MonkeyPatch, *modules: ModuleType, by: Callable[[float], object] = lambda _: None
) -> None:
    """Replace `time.sleep` in these modules only: threads of libraries sleep, too, and would be recorded.

    modules: each contains `import time`. by: called instead of `time.sleep`.
    """
    for module in modules:
        monkeypatch.setattr(module, "time", SimpleNamespace(**{**vars(time), "sleep": by}))


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_sleep(monkeypatch, backoff)
