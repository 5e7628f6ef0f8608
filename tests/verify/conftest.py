"""Skips tests that cannot run, unless `make verify REQUIRE='docker advisories node'` asks for them."""

import os
from collections.abc import Callable, Iterator

import pytest

from stepwise.local.containers import Containers, ContainersUnavailable, KeptContainers, containers, host_address
from stepwise.local.deployment import deploy
from stepwise.local.emulator import emulator
from stepwise.operations import orders, stock
from stepwise.operations.stack import Stack
from tests.kit.project import ROOT, read_json
from tests.kit.sample_events.expectations import ORDER_ID

REQUIRED = os.environ.get("REQUIRE", "").split()

type PassOver = Callable[[str, str], None]


@pytest.fixture(scope="session")
def pass_over() -> PassOver:
    """Skip the test, or fail it if the missing tool is required. Gets the tool's name and the reason."""

    def decide(what: str, why: str) -> None:
        verdict = pytest.fail if what in REQUIRED else pytest.skip
        verdict(f"{what}: {why}")

    return decide


@pytest.fixture(scope="session")
def bridge(pass_over: PassOver) -> None:
    """A Docker whose containers can reach this host."""
    try:
        host_address()
    except ContainersUnavailable as unavailable:
        pass_over("docker", f"no event was invoked in a container: {unavailable}")


@pytest.fixture(scope="session")
def running(bridge: None) -> Iterator[emulator.Emulator]:
    with emulator.attached({"SFN_WAIT_SCALE": "0.005"}) as started:
        deploy(started.endpoint, started.log, AllowReset="true")
        yield started


@pytest.fixture(scope="session")
def stack(running: emulator.Emulator) -> Stack:
    """A stack with one successful saga, where nothing starts automatically."""
    stack = Stack.local(running.endpoint, services=running.simulators)
    for rule in stack.client("events").list_rules()["Rules"]:
        stack.client("events").disable_rule(Name=rule["Name"])
    functions = stack.client("lambda")
    for mapping in functions.list_event_source_mappings()["EventSourceMappings"]:
        functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    stock.seed(stack, read_json(ROOT / "src" / "stepwise" / "cli" / "seed_stock.json"))
    orders.place(stack, read_json(ROOT / "events/ordering" / "process_order.json"))
    assert orders.ended(stack, ORDER_ID).status == "SUCCEEDED"
    return stack


@pytest.fixture(scope="session")
def docker(running: emulator.Emulator) -> Iterator[Containers]:
    with containers(running) as started:
        yield started


@pytest.fixture(scope="session")
def kept(docker: Containers) -> Iterator[KeptContainers]:
    with docker.kept() as started:
        yield started


@pytest.fixture(scope="session")
def invoked() -> set[str]:
    """Functions that have run by `sam local invoke`."""
    return set()
