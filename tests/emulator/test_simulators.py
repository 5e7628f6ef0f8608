"""The servers beside the emulator: they start with it, are found through its environment, and end with it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import boto3
import psutil
import pytest

from stepwise.local.emulator import emulator
from stepwise.local.emulator.emulator import LocalStackError
from stepwise.local.simulators.connect.remote_control import RemoteControl
from stepwise.local.simulators.simulators import SIMULATORS
from stepwise.operations.stack import Stack
from tests.kit.injection import simulator_processes
from tests.kit.ministack import Account

pytestmark = pytest.mark.local_only("are about the local stack itself")

ENDPOINTS = """
import os

def handler(event, context):
    return {name: value for name, value in os.environ.items() if name.startswith("AWS_ENDPOINT_URL")}
"""
LIST_INSTANCES = """
import boto3, json
print(json.dumps([one["InstanceAlias"] for one in boto3.client("connect").list_instances()["InstanceSummaryList"]]))
"""
QUICK = {"CONNECT_SIMULATOR_ACTIVATION_SECONDS": "0.25", "CONNECT_SIMULATOR_BURST": "50"}
ALIAS = "one-of-a-test"


@pytest.fixture(scope="module")
def started() -> Iterator[emulator.Emulator]:
    with emulator.attached(QUICK) as running:
        yield running


def test_every_simulator_runs_and_is_recorded(started: emulator.Emulator) -> None:
    assert started.simulators.keys() == {simulator.name for simulator in SIMULATORS}
    assert len(simulator_processes(started.pid)) == len(SIMULATORS)


def test_program_in_the_local_environment_reaches_the_simulator(started: emulator.Emulator) -> None:
    control = RemoteControl(started.simulators["connect"])
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=emulator.REGION)
    connect = Stack(session, started.endpoint, {}, services=started.simulators).client("connect")
    connect.create_instance(
        IdentityManagementType="CONNECT_MANAGED",
        InstanceAlias=ALIAS,
        InboundCallsEnabled=True,
        OutboundCallsEnabled=True,
    )
    variables = emulator.environment(started.endpoint)
    assert variables["AWS_ENDPOINT_URL_CONNECT"] == started.simulators["connect"]
    command = [sys.executable, "-c", LIST_INSTANCES]
    ran = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == [ALIAS]
    assert [entry["operation"] for entry in control.requests()] == ["CreateInstance", "ListInstances"]


def test_deployed_function_reaches_the_simulator(started: emulator.Emulator) -> None:
    found = Account(started.endpoint).function(ENDPOINTS).call().body
    assert found == {"AWS_ENDPOINT_URL": started.endpoint, **_variables(started)}


def _variables(started: emulator.Emulator) -> dict[str, str]:
    return {simulator.variable: started.simulators[simulator.name] for simulator in SIMULATORS if simulator.variable}


def test_emulator_settings_reach_the_simulator(started: emulator.Emulator) -> None:
    settings = RemoteControl(started.simulators["connect"]).settings()
    assert (settings["activation_seconds"], settings["burst"]) == (0.25, 50)


def test_simulator_listens_on_loopback_only(started: emulator.Emulator) -> None:
    sockets = [
        connection
        for process in simulator_processes(started.pid)
        for connection in process.net_connections(kind="inet")
    ]
    listening = {one.laddr.ip for one in sockets if one.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}


def test_each_emulator_has_its_own_simulators(started: emulator.Emulator) -> None:
    with emulator.attached() as other:
        assert set(other.simulators.values()).isdisjoint(started.simulators.values())
        gone = simulator_processes(other.pid)
    assert psutil.wait_procs(gone, timeout=0)[1] == []
    assert other.simulators == {}
    assert emulator.environment(other.endpoint).keys().isdisjoint({simulator.variable for simulator in SIMULATORS})


def test_simulator_ends_when_only_its_emulator_is_killed() -> None:
    with emulator.attached() as running:
        Account(running.endpoint).function(ENDPOINTS).call()
        left = simulator_processes(running.pid)
        os.kill(running.pid, 9)
        assert psutil.wait_procs(left, timeout=60)[1] == []


def test_emulator_does_not_start_without_its_simulators() -> None:
    with pytest.raises(
        LocalStackError, match=r"stopped during startup(.|\n)*the simulator connect stopped during startup"
    ):
        emulator.start(emulator.free_port(), attached=True, settings={"CONNECT_SIMULATOR_BURST": "zero"})
