"""Fixtures for tests of every kind."""

import gc
from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.session
import pytest
from botocore.hooks import EventAliaser
from botocore.useragent import UserAgentString
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
# So do clients with the names of events.
EventAliaser._alias_event_name = staticmethod(EventAliaser(None)._alias_event_name)
# Nothing reads the user agent, which takes a tenth of a call in this process.
UserAgentString.to_string = lambda _: "tests"


# Half of the files of each of these folders share the stack or the emulators of a session, except those named.
_SHARING = {
    "tests/emulator": {
        "test_console_process.py",
        "test_emulator.py",
        "test_life_cycle.py",
        "test_map_runs.py",
        "test_mocked_tasks.py",
        "test_other_applications.py",
        "test_simulators.py",
    },
    "tests/integration": {
        "test_add_a_step.py",
        "test_add_a_type.py",
        "test_deployed.py",
        "test_failed_deployment.py",
        "test_gradual.py",
        "test_restore.py",
        "test_second_saga.py",
    },
    "tests/load": {"test_benchmarks.py", "test_hot_stock.py", "test_targets.py"},
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marks.heed(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep files that share a stack in one process, where pytest-xdist keeps a file in one."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Sharing(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            folder, _, name = file.rpartition("/")
            # Split alphabetically in halves, so that no process gets a whole folder.
            return f"{folder} {name < 'test_j'}" if name not in _SHARING.get(folder, {name}) else file

    return Sharing(config, log)


def pytest_collection_finish() -> None:
    """Collect garbage rarely, and skip objects that stay: modules and tests."""
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
