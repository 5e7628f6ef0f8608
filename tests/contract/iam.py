"""IAM actions: what calls and state machines need, and what roles grant, as (action, ARN) with everything resolved.

Source of what a call needs: the Service Authorization Reference; for transactions, "IAM and DynamoDB transactions".
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from tests.contract.machine import MACHINES
from tests.contract.template import Function, listed, of_type
from tests.contract.wire import Call
from tests.faults.stack import ACCOUNT, REGION, Stack

type Parameters = Mapping[str, Any]

TRACING = ("xray:PutTelemetryRecords", "xray:PutTraceSegments")
SAMPLING = ("xray:GetSamplingRules", "xray:GetSamplingTargets")
LOG_DELIVERY = (
    "logs:CreateLogDelivery",
    "logs:DeleteLogDelivery",
    "logs:DescribeLogGroups",
    "logs:DescribeResourcePolicies",
    "logs:GetLogDelivery",
    "logs:ListLogDeliveries",
    "logs:PutResourcePolicy",
    "logs:UpdateLogDelivery",
)
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


def granted(role: str, stack: Stack) -> set[Permission]:
    """What a role allows, with these parameters of the template."""
    policies = stack.resolve(of_type("AWS::IAM::Role")[role]["Policies"])
    statements = [one for policy in policies for one in policy["PolicyDocument"]["Statement"] if one]
    return {
        Permission(action, resource)
        for statement in statements
        for action in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    }


def needed_by_call(call: Call) -> set[Permission]:
    """What a request of a function needs. Raises NotKnown."""
    if call.operation not in _NEEDS:
        raise NotKnown(f"say in tests/contract/iam.py what {call.operation} needs")
    return {Permission(action, resource) for action, resource in _NEEDS[call.operation](call.parameters)}


def needed_by_lambda(function: Function, stack: Stack) -> set[Permission]:
    """What Lambda itself does in the function's name: logs, traces, and what it was asked to do with failures."""
    log = stack.resolve({"Fn::GetAtt": [function.log_group, "Arn"]})
    needed = {Permission(action, log) for action in ("logs:CreateLogStream", "logs:PutLogEvents")}
    needed |= {Permission(action, "*") for action in TRACING}
    for settings in (function.properties.get("EventInvokeConfig", {}), *_sources(function)):
        destination = settings.get("DestinationConfig", {}).get("OnFailure")
        needed |= _to(destination["Type"], stack.resolve(destination["Destination"])) if destination else set()
        needed |= _from(stack.resolve(settings["Stream"])) if "Stream" in settings else set()
    return needed


def needed_by_machine(name: str, stack: Stack) -> set[Permission]:
    """What a state machine needs for its tasks, its log and its traces. Raises NotKnown."""
    machine = replace(MACHINES[name], definition=stack.definition(name))
    needed = {Permission(action, "*") for action in LOG_DELIVERY if "Logging" in machine.properties}
    needed |= {Permission(action, "*") for action in (*TRACING, *SAMPLING) if "Tracing" in machine.properties}
    for state, task in machine.tasks():
        integration = task["Resource"].removesuffix(".waitForTaskToken")
        if integration not in _INTEGRATIONS:
            raise NotKnown(f"say in tests/contract/iam.py what {integration} of {state} needs")
        needed |= _INTEGRATIONS[integration](task["Parameters"], stack)
    return needed


def _sources(function: Function) -> Iterator[Parameters]:
    """The streams that Lambda reads for the function; other events need nothing of its role."""
    for event in function.properties.get("Events", {}).values():
        if event["Type"] == "DynamoDB":
            yield event["Properties"]
        elif event["Type"] not in {"EventBridgeRule", "Schedule"}:
            raise NotKnown(f"say in tests/contract/iam.py what an event of type {event['Type']} needs")


def _from(stream: str) -> set[Permission]:
    actions = ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")
    return {Permission(f"dynamodb:{action}", stream) for action in actions}


def _to(kind: str, destination: str) -> set[Permission]:
    match kind:
        case "SQS":
            return {Permission("sqs:SendMessage", destination)}
        case "S3":
            return {
                Permission("s3:ListBucket", destination),
                Permission("s3:PutObject", f"{destination}/aws/lambda/*"),
            }
    raise NotKnown(f"say in tests/contract/iam.py what a destination of type {kind} needs")


def _invoke(parameters: Parameters, _: Stack) -> set[Permission]:
    return {Permission("lambda:InvokeFunction", parameters["FunctionName"])}


def _publish(parameters: Parameters, stack: Stack) -> set[Permission]:
    """An encrypted topic needs its key as well."""
    (topic,) = (body for name, body in of_type("AWS::SNS::Topic").items() if stack.arn(name) == parameters["TopicArn"])
    key = stack.arn(topic["KmsMasterKeyId"]["Ref"])
    return {Permission("sns:Publish", parameters["TopicArn"])} | {
        Permission(action, key) for action in ("kms:Decrypt", "kms:GenerateDataKey")
    }


_INTEGRATIONS: dict[str, Callable[[Parameters, Stack], set[Permission]]] = {
    "arn:aws:states:::lambda:invoke": _invoke,
    "arn:aws:states:::sns:publish": _publish,
}


def _item(action: str) -> Callable[[Parameters], Iterator[tuple[str, str]]]:
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


def _connect(action: str, *dependent: str) -> Callable[[Parameters], Iterator[tuple[str, str]]]:
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


_NEEDS: dict[str, Callable[[Parameters], Iterator[tuple[str, str]]]] = {
    **{f"dynamodb:{action}": _item(action) for action in ("GetItem", "PutItem", "Query", "Scan", "UpdateItem")},
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
    "sfn:DescribeExecution": lambda parameters: iter([("states:DescribeExecution", parameters["executionArn"])]),
    "sfn:StartExecution": lambda parameters: iter([("states:StartExecution", parameters["stateMachineArn"])]),
}
