"""The IAM actions that a function's request needs, each on an ARN.

Source: the Service Authorization Reference; for transactions, "IAM and DynamoDB transactions".
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from service_models import OPERATIONS
from tests.kit.deployed_stack import ACCOUNT, REGION
from tests.kit.service_authorization import reference
from tests.kit.wire import Call

type Parameters = Mapping[str, Any]
type Needs = Callable[[Parameters], Iterator[tuple[str, str]]]

_TRANSACTION = {
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "ConditionCheck": "dynamodb:ConditionCheckItem",
    "Get": "dynamodb:GetItem",
}


_CONNECTS_ROLE = "aws-service-role/connect.amazonaws.com/AWSServiceRoleForAmazonConnect_x"


class NotKnown(Exception):
    """The permissions for a request are unknown; the message says where to add them."""


@dataclass(frozen=True, slots=True)
class Permission:
    """An action on a resource. resource: an ARN; in a grant, with * and ? as in IAM."""

    action: str
    resource: str

    def covers(self, needed: "Permission") -> bool:
        """Returns True if this grant allows the need, by IAM's rules."""
        return self.action == needed.action and fnmatchcase(needed.resource, self.resource)


def needed_by_call(call: Call) -> set[Permission]:
    """The permissions needed for a function's request. Raises NotKnown."""
    if call.operation not in _NEEDS:
        raise NotKnown(f"say in tests/kit/needs.py what {call.operation} needs")
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


def _parameter(parameters: Parameters, action: str) -> Iterator[tuple[str, str]]:
    yield action, f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter{parameters['Name']}"


def _batch(parameters: Parameters) -> Iterator[tuple[str, str]]:
    yield from (("dynamodb:BatchGetItem", _table(name)) for name in parameters["RequestItems"])


def _get_object(parameters: Parameters) -> Iterator[tuple[str, str]]:
    action = "s3:GetObjectVersion" if "VersionId" in parameters else "s3:GetObject"
    yield action, f"arn:aws:s3:::{parameters['Bucket']}/{parameters['Key']}"


def _copy_object(parameters: Parameters) -> Iterator[tuple[str, str]]:
    yield from _get_object(parameters["CopySource"])
    yield from _put_object(parameters)


def _put_object(parameters: Parameters) -> Iterator[tuple[str, str]]:
    yield "s3:PutObject", f"arn:aws:s3:::{parameters['Bucket']}/{parameters['Key']}"


def _abort_upload(parameters: Parameters) -> Iterator[tuple[str, str]]:
    yield "s3:AbortMultipartUpload", f"arn:aws:s3:::{parameters['Bucket']}/{parameters['Key']}"


def _list_versions(parameters: Parameters) -> Iterator[tuple[str, str]]:
    yield "s3:ListBucketVersions", f"arn:aws:s3:::{parameters['Bucket']}"


def _delete_objects(parameters: Parameters) -> Iterator[tuple[str, str]]:
    """The permissions to delete objects: S3 always checks DeleteObject; for a version, DeleteObjectVersion as well."""
    for one in parameters["Delete"]["Objects"]:
        for action in ("DeleteObject", "DeleteObjectVersion"):
            yield f"s3:{action}", f"arn:aws:s3:::{parameters['Bucket']}/{one['Key']}"


def _list_bucket(parameters: Parameters) -> Iterator[tuple[str, str]]:
    yield "s3:ListBucket", f"arn:aws:s3:::{parameters['Bucket']}"


def _connect(parameters: Parameters, action: str) -> Iterator[tuple[str, str]]:
    """The action, its dependent actions in AWS's reference, and the tagging of what it creates."""
    for one in (action, *reference()[action].dependent):
        yield from ((one, _rendered(arn, parameters)) for arn in reference()[one].resources or ("*",))
    if "Tags" in parameters:
        yield (
            "connect:TagResource",
            f"arn:aws:connect:{REGION}:{ACCOUNT}:instance/{parameters.get('InstanceId', 'new')}",
        )


def _rendered(arn: str, parameters: Parameters) -> str:
    values = {
        "Partition": "aws",
        "Region": REGION,
        "Account": ACCOUNT,
        "RoleNameWithPath": _CONNECTS_ROLE,
        **parameters,
    }
    return re.sub(r"\$\{(\w+)\}", lambda match: str(values.get(match[1], "new")), arn)


def _execution(parameters: Parameters, action: str) -> Iterator[tuple[str, str]]:
    yield action, parameters["executionArn"]


def _table(name: str) -> str:
    return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"


_NEEDS: dict[str, Needs] = {
    "lambda:Invoke": lambda parameters: iter([("lambda:InvokeFunction", parameters["FunctionName"])]),
    **{f"dynamodb:{action}": _item(action) for action in ("DeleteItem", "PutItem", "Query", "Scan", "UpdateItem")},
    "dynamodb:BatchGetItem": _batch,
    "dynamodb:TransactGetItems": _transaction,
    "dynamodb:TransactWriteItems": _transaction,
    "s3:AbortMultipartUpload": _abort_upload,
    "s3:CopyObject": _copy_object,
    "s3:DeleteObjects": _delete_objects,
    "s3:GetObject": _get_object,
    "s3:ListObjectVersions": _list_versions,
    "s3:HeadObject": _get_object,
    "s3:ListObjectsV2": _list_bucket,
    **{
        f"s3:{operation}": _put_object
        for operation in ("CompleteMultipartUpload", "CreateMultipartUpload", "PutObject", "UploadPart")
    },
    "secrets-manager:GetSecretValue": lambda parameters: iter(
        [("secretsmanager:GetSecretValue", parameters["SecretId"])]
    ),
    **{f"connect:{name}": partial(_connect, action=f"connect:{name}") for name in OPERATIONS["connect"]},
    **{
        f"sfn:{name}": partial(_execution, action=f"states:{name}")
        for name in ("DescribeExecution", "GetExecutionHistory", "ListMapRuns", "StopExecution")
    },
    **{
        f"ssm:{name}": partial(_parameter, action=f"ssm:{name}")
        for name in ("DeleteParameter", "GetParameter", "PutParameter")
    },
    "sns:Publish": lambda parameters: iter([("sns:Publish", parameters["TopicArn"])]),
    # It has no resource-level permissions.
    "sfn:SendTaskSuccess": lambda _: iter([("states:SendTaskSuccess", "*")]),
    "sfn:StartExecution": lambda parameters: iter([("states:StartExecution", parameters["stateMachineArn"])]),
}
