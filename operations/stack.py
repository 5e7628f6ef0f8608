"""A deployed stack, local or on AWS: its outputs, and clients that reach it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import boto3
from boto3.dynamodb.types import TypeDeserializer
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from .errors import CommandError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_stepfunctions import SFNClient

STACK_NAME = "stepwise"
_LOCAL_REGION = "us-east-1"

type Row = dict[str, Any]


class StackNotFound(CommandError):
    """The stack does not exist; the message says how to create it."""


@dataclass(frozen=True)
class Stack:
    """outputs: by name. parameters: those it was deployed with.

    status: CloudFormation's status. services: other endpoints, by service name.
    """

    session: boto3.Session
    endpoint: str | None
    outputs: Mapping[str, str]
    parameters: Mapping[str, str] = field(default_factory=dict)
    status: str = ""
    services: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def local(cls, endpoint: str, name: str = STACK_NAME, services: Mapping[str, str] | None = None) -> "Stack":
        """A stack at a local endpoint. services: endpoints of simulators, by service name. Raises StackNotFound."""
        session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=_LOCAL_REGION)
        found = cls._described(session, endpoint, name, "start it with 'make up'")
        return replace(found, services=services or {})

    @classmethod
    def on_aws(cls, name: str) -> "Stack":
        """A stack in the account of your AWS settings. Raises StackNotFound."""
        return cls._described(boto3.Session(), None, name, "deploy it with 'sam build && sam deploy'")

    @classmethod
    def _described(cls, session: boto3.Session, endpoint: str | None, name: str, remedy: str) -> "Stack":
        try:
            # Fail fast: a local endpoint either answers at once or is not there.
            settings = Config(connect_timeout=3, retries={"mode": "standard", "total_max_attempts": 2})
            cloudformation: CloudFormationClient = session.client(
                "cloudformation", endpoint_url=endpoint, config=settings
            )
            described = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
        except (ClientError, BotoCoreError) as error:
            raise StackNotFound(f"no stack {name!r} at {endpoint or 'AWS'} ({error}); {remedy}") from error
        outputs = {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", [])}
        parameters = {one["ParameterKey"]: one["ParameterValue"] for one in described.get("Parameters", [])}
        return cls(session, endpoint, outputs, parameters, described["StackStatus"])

    def client(self, service: str) -> Any:
        """A boto3 client of a service for this stack."""
        if service not in self._clients:
            settings = Config(retries={"mode": "standard", "total_max_attempts": 5}, max_pool_connections=32)
            self._clients[service] = self.session.client(
                service, endpoint_url=self._endpoint_of(service), config=settings
            )  # type: ignore[call-overload]
        return self._clients[service]

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


def plain(item: Mapping[str, Any]) -> Row:
    """A DynamoDB item as Python values."""
    deserializer = TypeDeserializer()
    return {name: deserializer.deserialize(value) for name, value in item.items()}
