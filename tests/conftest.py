"""Fixtures for tests of every kind."""

import gc
from collections.abc import Iterator
from functools import cache

import botocore.session
import pytest
from botocore.hooks import EventAliaser
from botocore.useragent import UserAgentComponent
from hypothesis import HealthCheck, settings

from tests.kit.connect_simulator import UNTHROTTLED, Connect, serving
from tests.kit.engines import marks

pytest_plugins = ["tests.kit.watchdog"]

# A busy machine must not fail a test. `make check` runs fewer examples.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("test", _PATIENT)
settings.register_profile("check", _PATIENT, max_examples=20)
settings.load_profile("test")

# Sessions share the models of AWS's services: reading them takes longer than most tests.
botocore.session.create_loader = cache(botocore.session.create_loader)
# So do clients with the names of events, and calls with the parts of the user agent.
EventAliaser._alias_event_name = staticmethod(EventAliaser(None)._alias_event_name)
UserAgentComponent.to_string = cache(UserAgentComponent.to_string)


# Session fixtures that start an emulator, most with a deployed stack.
_STARTING = {"limited", "ours", "running", "stack", "upstream"}
_ON_STACKS = {"emulator", "integration", "load"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marks.heed(items)
    _group(items)


def _group(items: list[pytest.Item]) -> None:
    """Keep a file in one process of `make test`, and so all files of a folder that share its session's stack."""
    using = {item.path for item in items if _STARTING & set(getattr(item, "fixturenames", ()))}
    for item in items:
        if item.get_closest_marker("xdist_group"):
            continue
        folder = item.path.parent.name
        shares = folder in _ON_STACKS and item.path in using
        item.add_marker(pytest.mark.xdist_group(folder if shares else f"{folder}/{item.path.name}"))


def pytest_collection_finish() -> None:
    """Collect garbage rarely, and not among what stays: modules and tests."""
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture(scope="session")
def connect_server() -> Iterator[Connect]:
    with serving() as started:
        yield started


@pytest.fixture
def connect(connect_server: Connect) -> Connect:
    """The Amazon Connect simulator in this process: empty, unthrottled, on a clock that the test moves."""
    connect_server.control.reset()
    connect_server.control.change(**UNTHROTTLED)
    return connect_server
