"""Possible S3 and Amazon Connect responses to the requests of a user import, the plain success first."""

import io
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from botocore.response import StreamingBody

from tests.kit.answer import Answer, Parameters, Refusal
from user_import.csv_file import REQUIRED_COLUMNS
from user_import.instances import default_alias
from user_import.results import COLUMNS

_HEADER = ",".join(REQUIRED_COLUMNS) + "\r\n"
_ROW = "1,alice,Passw0rd1,Alice,Example"
_RESULT = f"{','.join(COLUMNS)}\n1,1,False,,,no\n2,2,Success,u-1,a,\n"
_ARN = "arn:aws:connect:us-east-1:000000000000:instance/i-1"
_GONE = Refusal("ResourceNotFoundException")


def get_object(parameters: Parameters) -> Iterable[Answer]:
    """A user file whose first row has the length that the sample events give, or a result file."""
    text = _RESULT if "UserCreateResult" in parameters["Key"] else f"{_HEADER}{_ROW.ljust(61, '.')}\r\n2,bob\r\n"
    start, _, end = parameters.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
    content = text.encode()[int(start) : int(end) + 1 if end else None]
    yield {"Body": StreamingBody(io.BytesIO(content), len(content))}
    yield Refusal("NoSuchVersion")


def _stored(_: Parameters) -> Iterable[Answer]:
    """A result file of the import that the sample events name, or of another."""
    own = {"import-id": "upload-20261121-9f86d081884c7d659a2feaa0c55ad015"}
    yield {"VersionId": "v-1", "ETag": '"e-1"', "Metadata": own}
    yield {"VersionId": "v-1", "ETag": '"e-1"', "Metadata": {}}
    yield Refusal("NoSuchKey")


def _written(_: Parameters) -> Iterable[Answer]:
    yield {"VersionId": "v-1"}
    yield Refusal("PreconditionFailed")
    yield Refusal("SlowDown")


def _listed(_: Parameters) -> Iterable[Answer]:
    yield {"Contents": [{"Key": "TestFile_20261121.csv"}]}
    yield {}


def _instance() -> Mapping[str, Any]:
    alias = os.environ["CONNECT_INSTANCE_ALIAS"] or default_alias(os.environ["STACK_NAME"], os.environ["STACK_ID"])
    return {"Id": "i-1", "Arn": _ARN, "InstanceAlias": alias, "InstanceStatus": "ACTIVE"}


def _instances(_: Parameters) -> Iterable[Answer]:
    yield {"InstanceSummaryList": [_instance()]}
    yield {"InstanceSummaryList": []}


def _described(_: Parameters) -> Iterable[Answer]:
    yield {"Instance": {**_instance(), "Tags": {"stepwise-stack": os.environ["STACK_NAME"]}}}
    yield {"Instance": {**_instance(), "InstanceStatus": "CREATION_IN_PROGRESS"}}
    yield _GONE


def _created(_: Parameters) -> Iterable[Answer]:
    yield {"Id": "i-1"}
    yield Refusal("InvalidRequestException")


def _deleted(_: Parameters) -> Iterable[Answer]:
    yield {}
    yield _GONE


def _security(_: Parameters) -> Iterable[Answer]:
    yield {"SecurityProfileSummaryList": [{"Name": "Agent", "Id": "p-1"}]}


def _routing(_: Parameters) -> Iterable[Answer]:
    yield {"RoutingProfileSummaryList": [{"Name": "Basic Routing Profile", "Id": "r-1"}]}


def _user(_: Parameters) -> Iterable[Answer]:
    yield {"UserId": "u-1"}
    yield Refusal("DuplicateResourceException")
    yield Refusal("LimitExceededException")


def _found(parameters: Parameters) -> Iterable[Answer]:
    name = parameters["SearchCriteria"]["StringCondition"]["Value"]
    yield {"Users": [{"Id": "u-1", "Username": name}]}
    yield {"Users": []}


ANSWERS: dict[str, Callable[[Parameters], Iterable[Answer]]] = {
    "s3:HeadObject": _stored,
    "s3:PutObject": _written,
    "s3:ListObjectsV2": _listed,
    "connect:ListInstances": _instances,
    "connect:DescribeInstance": _described,
    "connect:CreateInstance": _created,
    "connect:DeleteInstance": _deleted,
    "connect:ListSecurityProfiles": _security,
    "connect:ListRoutingProfiles": _routing,
    "connect:CreateUser": _user,
    "connect:SearchUsers": _found,
}
