"""A pytest plugin for `make test-aws`: the integration tests on a deployed stack, next to its other data.

The account, the Region and, for a local stack, the endpoint are those of the usual AWS settings.
"""

import signal
from collections import Counter
from typing import Any

import pytest

from stepwise.cli.options import region_of
from stepwise.operations.stack import Stack, StackNotFound
from tests.kit.belongings import RUN
from tests.kit.removal import told
from tests.kit.template import TEMPLATE

STACK = pytest.StashKey[Stack]()
INSTANCE = pytest.StashKey[str]()
REMOVED = pytest.StashKey[Counter[str]]()
_DESELECTED = pytest.StashKey[Counter[str]]()

# Fixtures that need more than a stack's outputs, or would disturb other users of the stack.
LOCAL_FIXTURES = {
    "running": "look into the local stack's own processes",
    "resources": "inject faults, by changing what is deployed",
    "simulator": "order faults from Amazon Connect's simulator, or count its requests",
    "alerts": "subscribe to the stack's topics",
    "routine": "subscribe to the stack's topics",
    "events": "subscribe to the stack's topics",
}
_READY = {"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE"}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("deployed stack")
    group.addoption("--stack", default="", help="Name of the stack.")
    group.addoption("--connect-instance", default="", help="Id of the Amazon Connect instance to create users in.")


def pytest_configure(config: pytest.Config) -> None:
    try:
        config.stash[STACK] = chosen(config.getoption("--stack"))
    except StackNotFound as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[INSTANCE] = config.getoption("--connect-instance")
    # A pipeline that ends its job must end it like Ctrl-C, with everything removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def chosen(name: str) -> Stack:
    """The stack of this name. Raises StackNotFound, also if the tests may not run on it."""
    if not name:
        raise StackNotFound("which stack? make test-aws STACK=stepwise")
    stack = Stack.on_aws(name, region_of(name))
    reason = unfit(stack)
    if reason:
        raise StackNotFound(f"the tests cannot run on stack {name}: {reason}")
    return stack


def unfit(stack: Stack) -> str:
    """The reason that the tests cannot run on a stack; empty if they can."""
    if stack.status not in _READY:
        return f"it is {stack.status}, not {' or '.join(sorted(_READY))}"
    missing = sorted(set(TEMPLATE["Outputs"]) - set(stack.outputs))
    if missing:
        return f"it lacks the outputs {', '.join(missing)}; deploy the template of this checkout"
    if stack.parameters.get("PaymentGatewayUrl"):
        return "it has a PaymentGatewayUrl, and every test would charge a card there"
    return ""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    reasons = [local_reason(item) for item in items]
    config.hook.pytest_deselected(items=[item for item, reason in zip(items, reasons, strict=True) if reason])
    config.stash[_DESELECTED] = Counter(filter(None, reasons))
    items[:] = [item for item, reason in zip(items, reasons, strict=True) if not reason]


def local_reason(item: pytest.Item) -> str:
    """The reason that a test runs only on its own local stack; empty if it runs anywhere."""
    mark = item.get_closest_marker("local_only")
    if mark:
        return str(mark.args[0])
    fixtures: list[str] = getattr(item, "fixturenames", [])
    return next((reason for name, reason in LOCAL_FIXTURES.items() if name in fixtures), "")


def pytest_sessionstart(session: pytest.Session) -> None:
    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    reporter.line(f"stack {session.config.getoption('--stack')}; what this run makes has {RUN} in its name")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    terminalreporter.section("deployed stack")
    for reason, count in config.stash.get(_DESELECTED, Counter()).most_common():
        terminalreporter.line(f"deselected: {count} tests that {reason}")
    if REMOVED in config.stash:
        terminalreporter.line(f"removed: {told(config.stash[REMOVED])}")
    terminalreporter.line("left: histories of executions, logs, metrics, and notices that were sent")
