"""A fixture for the conftest.py of contexts that write to entities' tables."""

import pytest

from runtime import backoff


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff.time, "sleep", lambda _: None)
