"""With aliases: a release with another parameter reaches the functions, and orders succeed in each."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stepwise.deployment.gradual import ALIAS, AT_ONCE, release_of, write
from stepwise.deployment.templates import load
from stepwise.local.deployment import DEPLOY, PACKED, architecture, build, sam_environment
from stepwise.local.emulator import emulator
from stepwise.operations import orders, stock
from stepwise.operations.stack import Stack
from tests.kit.project import ROOT, read_json

pytestmark = [pytest.mark.local_only("deploy to an emulator of their own"), pytest.mark.timeout(1200)]

type Release = Callable[..., Stack]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    """Deploys the built template with aliases and parameters to a separate emulator, which has no CodeDeploy."""
    with emulator.attached({"SFN_WAIT_SCALE": "0.005"}) as running:
        # sam zips the folder of each function, one by one, where packed templates name archives.
        built = build(running.endpoint, running.log) / PACKED
        environment = sam_environment(running.endpoint, tmp_path_factory.mktemp("sam"))

        def deploy(**given: str) -> Stack:
            parameters = {"Architecture": architecture(), **given}
            file = write(built, release_of(load(built), parameters), AT_ONCE)
            overrides = [f"{name}={value}" for name, value in parameters.items()]
            _sam(environment, file, "--parameter-overrides", *overrides)
            return Stack.local(running.endpoint, services=running.simulators)

        yield deploy


def _sam(environment: dict[str, str], file: Path, *arguments: str) -> None:
    command = ["sam", "deploy", "--stack-name", "stepwise", *DEPLOY, "--template-file", str(file), *arguments]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def called(stack: Stack) -> Any:
    """The configuration of the version that the saga's first state invokes."""
    saga = stack.stepfunctions.describe_state_machine(stateMachineArn=stack.outputs["OrderSagaArn"])
    arn = json.loads(saga["definition"])["States"]["ProcessOrder"]["Parameters"]["FunctionName"]
    function, alias = arn.rsplit(":", 1)
    assert alias == ALIAS
    version = stack.client("lambda").get_alias(FunctionName=function, Name=alias)["FunctionVersion"]
    assert version != "$LATEST"
    return stack.client("lambda").get_function_configuration(FunctionName=function, Qualifier=version)


def status_of(stack: Stack, order_id: str) -> str:
    """The final status of a sample order."""
    stock.seed(stack, read_json(ROOT / "src" / "stepwise" / "cli" / "seed_stock.json"))
    orders.place(stack, {**read_json(ROOT / "events/ordering" / "process_order.json"), "order_id": order_id})
    return orders.ended(stack, order_id).status


def test_changed_parameter_reaches_the_alias(release: Release) -> None:
    first = called(stack := release())
    assert first["Environment"]["Variables"]["RECORD_LIFETIME_DAYS"] == "90"
    assert status_of(stack, "o-1") == "SUCCEEDED"

    second = called(stack := release(RecordLifetimeDays="100"))
    assert second["Environment"]["Variables"]["RECORD_LIFETIME_DAYS"] == "100"
    assert second["Version"] != first["Version"]
    assert status_of(stack, "o-2") == "SUCCEEDED"
