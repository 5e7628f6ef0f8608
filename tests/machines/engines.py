"""The engines that run the state machines: one at an address, and moto's in the test's process."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config

from stepwise.local.emulator import emulator
from tests.kit.engines import in_process
from tests.machines.mocks import CASES, FILE, Script

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

_SESSION = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
ROLE = "arn:aws:iam::123456789012:role/states"


@dataclass(frozen=True)
class Engine:
    """An engine. name: for tests. role: of the machines; its permissions do not matter: all tasks are mocked."""

    name: str
    client: "SFNClient"
    role: str


def serving(name: str, endpoint: str, role: str = ROLE) -> Engine:
    """An engine at an address."""
    # TestState would use another host, and an engine that is slow under load must not start a case twice.
    config = Config(inject_host_prefix=False, retries={"total_max_attempts": 1}, max_pool_connections=16)
    return Engine(name, _SESSION.client("stepfunctions", endpoint_url=endpoint, config=config), role)


@contextmanager
def ministack() -> Iterator[Engine]:
    """The local stack's engine, in a separate process. Its waits take no time."""
    with emulator.attached({"SFN_MOCK_CONFIG": str(FILE), "SFN_WAIT_SCALE": "0"}) as started:
        iam = _SESSION.client("iam", endpoint_url=started.endpoint)
        trust = {"Effect": "Allow", "Principal": {"Service": "states.amazonaws.com"}, "Action": "sts:AssumeRole"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        role = iam.create_role(RoleName="states", AssumeRolePolicyDocument=policy)["Role"]["Arn"]
        yield serving("ministack", started.endpoint, role)


@contextmanager
def moto() -> Iterator[Engine]:
    """moto's engine, which was LocalStack's. Its waits take no time; the mock file answers its tasks.

    moto 5.2.5 has the code for mocks but does not read the file, and counts retries where Step Functions Local counts
    attempts, so this class passes the answers to it.
    """
    engine = serving("moto", "https://states.us-east-1.amazonaws.com")
    send = in_process.moto().send
    engine.client.meta.events.register_last("before-send.stepfunctions", lambda request, **_: send(request))
    with pytest.MonkeyPatch.context() as patch:
        _execute_for_real(patch)
        _skip_waits(patch)
        _parse_once(patch)
        _list_matches(patch)
        _unwrap_definite_paths(patch)
        _count_redrives(patch)
        _mock_tasks(patch)
        yield engine


def _execute_for_real(patch: pytest.MonkeyPatch) -> None:
    from moto.core.config import default_user_config

    patch.setitem(default_user_config, "stepfunctions", {"execute_state_machine": True})


def _skip_waits(patch: pytest.MonkeyPatch) -> None:
    from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
    from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction

    class NoTime:
        def sleep(self, seconds: float) -> None: ...

    patch.setattr(retrier_decl, "time", NoTime())
    patch.setattr(WaitFunction, "_wait_interval", lambda *_, **__: None)


def _parse_once(patch: pytest.MonkeyPatch) -> None:
    """Cache parsing, which takes most of the time: moto parses each definition and path again at each use."""
    from moto.stepfunctions.parser.asl.component.common.path import result_path
    from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
    from moto.stepfunctions.parser.asl.parse.preprocessor import Preprocessor
    from moto.stepfunctions.parser.asl.utils import json_path

    tree = cache(lambda text, parse=AmazonStateLanguageParser.parse: parse(text)[1])
    patch.setattr(AmazonStateLanguageParser, "parse", lambda text: (Preprocessor().visit(tree(text)), tree(text)))
    for module in (json_path, result_path):
        patch.setattr(module, "parse", cache(module.parse))


def _list_matches(patch: pytest.MonkeyPatch) -> None:
    """moto unwraps a single match of a wildcard. AWS's JsonPath (Jayway) always returns a list."""
    from moto.stepfunctions.parser.asl.component.intrinsic.argument import argument

    def extract_json(path: str, data: Any, extract: Callable[..., Any] = argument.extract_json) -> Any:
        found = extract(path, data)
        return [found] if path.endswith("[*]") and not isinstance(found, list) else found

    patch.setattr(argument, "extract_json", extract_json)


def _unwrap_definite_paths(patch: pytest.MonkeyPatch) -> None:
    """moto returns a list for `$.checks[0].flagged`. AWS's JsonPath returns the value: the path can match only one."""
    from moto.stepfunctions.parser.asl.utils import json_path

    patch.setattr(json_path, "_is_singleton_array_access", lambda path: not re.search(r"[*?:,]|\.\.", path))


def _count_redrives(patch: pytest.MonkeyPatch) -> None:
    """moto's context object has no RedriveCount. AWS's has one, 0 before the first redrive."""
    from moto.stepfunctions.parser.backend import execution_worker

    patch.setattr(execution_worker, "ExecutionData", partial(execution_worker.ExecutionData, RedriveCount=0))


def _mock_tasks(patch: pytest.MonkeyPatch) -> None:
    from moto.stepfunctions.parser.asl.eval.environment import Environment
    from moto.stepfunctions.parser.mocking.mock_config import MockedResponseReturn, MockedResponseThrow
    from moto.stepfunctions.parser.models import StepFunctionsParserBackend

    scripts: dict[str, Script] = {}

    def answer(environment: Any) -> Any:
        execution = environment.states.context_object.context_object_data["Execution"]["Name"]
        response = scripts[execution].next(environment.next_state_name)
        if "Throw" in response:
            return MockedResponseThrow(0, 0, response["Throw"]["Error"], response["Throw"]["Cause"])
        return MockedResponseReturn(0, 0, response["Return"])

    patch.setattr(Environment, "is_mocked_mode", lambda _: True)
    patch.setattr(Environment, "get_current_mocked_response", answer)
    start = StepFunctionsParserBackend.start_execution
    patch.setattr(StepFunctionsParserBackend, "start_execution", _with_script(start, scripts))


def _with_script(start: Callable[..., Any], scripts: dict[str, Script]) -> Callable[..., Any]:
    def start_execution(backend: Any, arn: str, name: str, *args: Any, **kwargs: Any) -> Any:
        machine, _, case = arn.partition("#")
        scripts[name] = CASES[f"{machine.rpartition(':')[2]}.{case}"].script()
        return start(backend, machine, name, *args, **kwargs)

    return start_execution
