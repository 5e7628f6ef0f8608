"""The Amazon Connect simulator for tests: in this process, on the test's own clock, called with boto3."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import boto3
from botocore.config import Config

from stepwise.local.emulator.emulator import REGION
from stepwise.local.simulators.connect.remote_control import RemoteControl
from stepwise.local.simulators.connect.server import ConnectServer
from stepwise.local.simulators.connect.settings import Settings
from stepwise.local.simulators.connect.simulator import Clocks

UNTHROTTLED = {"requests_per_second": 1e6, "burst": 1_000_000}
PASSWORD = "Passw0rd-of-a-test"

type Document = dict[str, Any]

# Sessions are not thread-safe.
_one_at_a_time = threading.Lock()


@dataclass
class Clock:
    """A clock that a test moves."""

    seconds: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass(frozen=True)
class Connect:
    """A running simulator: a boto3 client, and its control paths."""

    server: ConnectServer
    clock: Clock
    client: Any = field(init=False)
    control: RemoteControl = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "client", client(self.server.address))
        object.__setattr__(self, "control", RemoteControl(self.server.address))

    def create_instance(self, **parameters: Any) -> str:
        """The id of a new instance, which is not active yet."""
        return str(self.client.create_instance(**new_instance(**parameters))["Id"])

    def instance(self, **parameters: Any) -> str:
        """The id of an instance that is active and has its profiles."""
        instance_id = self.create_instance(**parameters)
        settings = self.control.settings()
        self.clock.advance(settings["activation_seconds"] + settings["profiles_seconds"])
        return instance_id

    def user(self, instance_id: str, **parameters: Any) -> Document:
        """The parameters of CreateUser for a valid user."""
        security = self.client.list_security_profiles(InstanceId=instance_id)["SecurityProfileSummaryList"]
        routing = self.client.list_routing_profiles(InstanceId=instance_id)["RoutingProfileSummaryList"]
        return {
            "InstanceId": instance_id,
            "Username": "taro.yamada",
            "Password": PASSWORD,
            "IdentityInfo": {"FirstName": "太郎", "LastName": "山田"},
            "SecurityProfileIds": [next(profile["Id"] for profile in security if profile["Name"] == "Agent")],
            "RoutingProfileId": routing[0]["Id"],
            **parameters,
        }


def new_instance(**parameters: Any) -> Document:
    """The parameters of CreateInstance."""
    enabled = {"InboundCallsEnabled": True, "OutboundCallsEnabled": True}
    return {"IdentityManagementType": "CONNECT_MANAGED", "InstanceAlias": "stepwise", **enabled, **parameters}


def client(endpoint: str) -> Any:
    """A client without retries."""
    config = Config(retries={"total_max_attempts": 1}, read_timeout=60, proxies={})
    with _one_at_a_time:
        return _session().client("connect", endpoint_url=endpoint, config=config)


@cache
def _session() -> boto3.Session:
    """Shared, because every session reads the service model."""
    return boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION)


@contextmanager
def serving() -> Iterator[Connect]:
    """A listening simulator, on a stopped clock."""
    clock = Clock()
    with ConnectServer(Settings(), Clocks(clock, clock)).serving() as server:
        yield Connect(server, clock)
