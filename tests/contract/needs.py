"""What a request of a function needs: IAM actions, each on an ARN.

Source: the Service Authorization Reference; for transactions, "IAM and DynamoDB transactions".
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from tests.contract.wire import Call
from tests.faults.stack import ACCOUNT, REGION

type Parameters = Mapping[str, Any]
type Needs = Callable[[Parameters], Iterator[tuple[str, str]]]

_TRANSACTION = {
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "ConditionCheck": "dynamodb:ConditionCheckItem",
}


class NotKnown(Exception):
    """Nobody has said what this needs; the message says where to."""


@dataclass(frozen=True, slots=True)
class Permission:
    """resource: an ARN; in a grant, with * and ? as in IAM."""

    action: str
    resource: str

    def covers(self, needed: "Permission") -> bool:
        """Whether this grant allows what is needed, as IAM would have it."""
        return self.action == needed.action and fnmatchcase(needed.resource, self.resource)


def needed_by_call(call: Call) -> set[Permission]:
    """What a request of a function needs. Raises NotKnown."""
    if call.operation not in _NEEDS:
        raise NotKnown(f"say in tests/contract/needs.py what {call.operation} needs")
    return {Permission(action, resource) for action, resource in _NEEDS[call.operation](call.parameters)}


def _item(action: str) -> Needs:
    def needs(parameters: Parameters) -> Iterator[tuple[str, str]]:
        index = f"/index/{parameters['IndexName']}" if "IndexName" in parameters else ""
        yield f"dynamodb:{action}", _table(parameters["TableName"]) + index

    return needs


def _transaction(parameters: Parameters) -> Iterator[tuple[str, str]]:
    for entry in parameters["TransactItems"]:
        ((kind, body),) = entry.items()
        yield _TRANSACTION[kind], _table(body["TableName"])


def _batch(parameters: Parameters) -> Iterator[tuple[str, str]]:
    yield from (("dynamodb:BatchGetItem", _table(name)) for name in parameters["RequestItems"])


def _get_object(parameters: Parameters) -> Iterator[tuple[str, str]]:
    action = "s3:GetObjectVersion" if "VersionId" in parameters else "s3:GetObject"
    yield action, f"arn:aws:s3:::{parameters['Bucket']}/{parameters['Key']}"


def _put_object(parameters: Parameters) -> Iterator[tuple[str, str]]:
    yield "s3:PutObject", f"arn:aws:s3:::{parameters['Bucket']}/{parameters['Key']}"


def _list_bucket(parameters: Parameters) -> Iterator[tuple[str, str]]:
    yield "s3:ListBucket", f"arn:aws:s3:::{parameters['Bucket']}"


def _connect(action: str, *dependent: str) -> Needs:
    """dependent: of the directory in which Connect keeps an instance's identities."""

    def needs(parameters: Parameters) -> Iterator[tuple[str, str]]:
        instance = f"arn:aws:connect:{REGION}:{ACCOUNT}:instance/{parameters.get('InstanceId', 'new')}"
        yield f"connect:{action}", "*" if "InstanceId" not in parameters else instance
        if "Tags" in parameters:
            yield "connect:TagResource", instance
        yield from ((one, "*") for one in dependent)

    return needs


def _create_instance(parameters: Parameters) -> Iterator[tuple[str, str]]:
    """In the caller's name Connect makes a directory and a role of its own."""
    directory = ("AuthorizeApplication", "CheckAlias", "CreateAlias", "CreateIdentityPoolDirectory")
    also = ("DescribeDirectories", "UnauthorizeApplication")
    yield from _connect("CreateInstance", *(f"ds:{action}" for action in (*directory, *also)))(parameters)
    role = f"arn:aws:iam::{ACCOUNT}:role/aws-service-role/connect.amazonaws.com/AWSServiceRoleForAmazonConnect_x"
    yield from ((f"iam:{action}", role) for action in ("AttachRolePolicy", "CreateServiceLinkedRole", "PutRolePolicy"))


def _table(name: str) -> str:
    return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"


_NEEDS: dict[str, Needs] = {
    **{f"dynamodb:{action}": _item(action) for action in ("PutItem", "Scan")},
    "dynamodb:BatchGetItem": _batch,
    "dynamodb:TransactWriteItems": _transaction,
    "s3:GetObject": _get_object,
    "s3:HeadObject": _get_object,
    "s3:ListObjectsV2": _list_bucket,
    "s3:PutObject": _put_object,
    **{
        f"connect:{action}": _connect(action)
        for action in ("CreateUser", "ListRoutingProfiles", "ListSecurityProfiles", "SearchUsers")
    },
    "connect:CreateInstance": _create_instance,
    "connect:DeleteInstance": _connect(
        "DeleteInstance", "ds:DeleteDirectory", "ds:DescribeDirectories", "ds:UnauthorizeApplication"
    ),
    "connect:DescribeInstance": _connect("DescribeInstance", "ds:DescribeDirectories"),
    "connect:ListInstances": _connect("ListInstances", "ds:DescribeDirectories"),
    "secrets-manager:GetSecretValue": lambda parameters: iter(
        [("secretsmanager:GetSecretValue", parameters["SecretId"])]
    ),
    "sfn:DescribeExecution": lambda parameters: iter([("states:DescribeExecution", parameters["executionArn"])]),
    "sfn:StartExecution": lambda parameters: iter([("states:StartExecution", parameters["stateMachineArn"])]),
}
