"""A deployed stack, local or on AWS: its outputs, and clients that reach it.

botocore is imported where it is called, because the command line also reads this module for --help.
"""

import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError, EndpointConnectionError, NoRegionError

from stepwise import STACK_NAME

from .errors import CommandError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_stepfunctions import SFNClient

    from .session import Session

_LOCAL_REGION = "us-east-1"
# The local stack needs none of the caller's AWS settings, which may be broken.
_NO_SETTINGS: Any = {
    "profile": (None, None, None, None),
    "config_file": (None, None, os.devnull, None),
    "credentials_file": (None, None, os.devnull, None),
}

# Threads may use clients, but not create them.
_making_clients = threading.Lock()

type Row = dict[str, Any]


class StackNotFound(CommandError):
    """The stack does not exist; the message says why, or what to do."""


@dataclass(frozen=True)
class Stack:
    """A stack. outputs: by name. parameters: those it was deployed with.

    status: CloudFormation's status. services: other endpoints, by service name.
    access_key: that it was described with.
    """

    session: "Session"
    endpoint: str | None
    outputs: Mapping[str, str]
    parameters: Mapping[str, str] = field(default_factory=dict)
    status: str = ""
    services: Mapping[str, str] = field(default_factory=dict)
    access_key: str = field(default="", repr=False)

    @classmethod
    def local(cls, endpoint: str, name: str = STACK_NAME, services: Mapping[str, str] | None = None) -> "Stack":
        """Return a stack at a local endpoint. services: endpoints of simulators, by service name.

        Raises StackNotFound.
        """
        from .session import Session

        session = Session(_NO_SETTINGS, _LOCAL_REGION, ("test", "test"))
        return replace(cls._described(session, endpoint, name), services=services or {})

    @classmethod
    def on_aws(cls, name: str, region: str | None = None) -> "Stack":
        """Return a stack in the account of your AWS settings, and in their Region unless another is given.

        Raises StackNotFound.
        """
        from .session import Session

        try:
            session = Session(region=region or os.environ.get("AWS_REGION"))
        except BotoCoreError as error:
            raise StackNotFound(f"AWS settings: {error}") from error
        return cls._described(session, None, name)

    @classmethod
    def _described(cls, session: "Session", endpoint: str | None, name: str) -> "Stack":
        from botocore.config import Config
        from botocore.parsers import ResponseParserError

        try:
            # Fail fast: a local endpoint either answers at once or is not there.
            retries: Any = {"mode": "standard", "total_max_attempts": 2}
            settings = Config(connect_timeout=3, read_timeout=20, retries=retries)
            cloudformation: CloudFormationClient = session.client(
                "cloudformation", endpoint_url=endpoint, config=settings
            )
            described = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
        except (ClientError, BotoCoreError, ResponseParserError, LookupError) as error:
            why = _why_not_local(error, endpoint, name) if endpoint else _why_not_on_aws(error, session, name)
            raise why from error
        outputs = {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", [])}
        parameters = {one["ParameterKey"]: one["ParameterValue"] for one in described.get("Parameters", [])}
        status = described["StackStatus"]
        return cls(session, endpoint, outputs, parameters, status, access_key=session.access_key)

    def client(self, service: str) -> Any:
        """Create a client of a service for this stack."""
        from botocore.config import Config

        with _making_clients:
            if service not in self._clients:
                settings = Config(retries={"mode": "standard", "total_max_attempts": 5}, max_pool_connections=32)
                self._clients[service] = self.session.client(
                    service, endpoint_url=self._endpoint_of(service), config=settings
                )
        return self._clients[service]

    def resources(self, name: str, kind: str) -> Iterator[tuple[str, str]]:
        """Yield logical and physical id of each resource of a type, including nested stacks.

        name: the root stack's name.
        """
        pages = self.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=name)
        for one in (one for page in pages for one in page["StackResourceSummaries"]):
            if one["ResourceType"] == "AWS::CloudFormation::Stack":
                yield from self.resources(one["PhysicalResourceId"], kind)
            elif one["ResourceType"] == kind:
                yield one["LogicalResourceId"], one["PhysicalResourceId"]

    def _endpoint_of(self, service: str) -> str | None:
        return self.services.get(service, self.endpoint)

    @cached_property
    def _clients(self) -> dict[str, Any]:
        return {}

    @property
    def dynamodb(self) -> "DynamoDBClient":
        client: DynamoDBClient = self.client("dynamodb")
        return client

    @property
    def stepfunctions(self) -> "SFNClient":
        client: SFNClient = self.client("stepfunctions")
        return client

    def row(self, table_output: str, **key: str) -> Row | None:
        """Read one row, consistently, from the table that an output names."""
        wanted: Any = {name: {"S": value} for name, value in key.items()}
        found = self.dynamodb.get_item(TableName=self.outputs[table_output], Key=wanted, ConsistentRead=True)
        return plain(found["Item"]) if "Item" in found else None

    def rows(self, table_output: str, *, index: str | None = None) -> list[Row]:
        """Read all rows of the table that an output names, or of an index of it (which may lag behind)."""
        which = {"IndexName": index} if index else {"ConsistentRead": True}
        scan: Any = self.dynamodb.get_paginator("scan")
        pages = scan.paginate(TableName=self.outputs[table_output], **which)
        return [plain(item) for page in pages for item in page["Items"]]


def _why_not_local(error: Exception, endpoint: str, name: str) -> StackNotFound:
    if isinstance(error, EndpointConnectionError):
        return StackNotFound(f"nothing answers at {endpoint}", see=("start",))
    if _does_not_exist(error):
        see = ("start",) if name == STACK_NAME else ()
        return StackNotFound(f"there is no stack {name!r} at {endpoint}", see)
    what = type(error).__name__
    return StackNotFound(f"what answers at {endpoint} is no local stack ({what}); choose another port with --port")


def _why_not_on_aws(error: Exception, session: "Session", name: str) -> StackNotFound:
    if isinstance(error, NoRegionError):
        return StackNotFound("AWS settings: no Region; set AWS_REGION, or choose a profile that has one")
    if _does_not_exist(error):
        remedy = "choose another one with --stack, another Region with samconfig.toml or AWS_REGION, or deploy it"
        return StackNotFound(f"there is no stack {name!r} in {session.region_name}; {remedy}")
    return StackNotFound(f"stack {name!r} cannot be read: {error}")


def _does_not_exist(error: Exception) -> bool:
    return isinstance(error, ClientError) and error.response["Error"]["Code"] == "ValidationError"


def plain(item: Mapping[str, Any]) -> Row:
    """Convert a DynamoDB item to Python values; a number becomes a Decimal."""
    return {name: _value(value) for name, value in item.items()}


def _value(typed: Mapping[str, Any]) -> Any:
    ((kind, value),) = typed.items()
    match kind:
        case "N":
            return Decimal(value)
        case "NULL":
            return None
        case "M":
            return plain(value)
        case "L":
            return [_value(one) for one in value]
        case "NS":
            return {Decimal(one) for one in value}
        case "SS" | "BS":
            return set(value)
    return value
