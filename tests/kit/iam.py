"""The grants of roles, and the needs of Lambda and Step Functions, with all references resolved."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from stepwise.local.permissions import LOG_DELIVERY
from tests.kit.deployed_stack import ACCOUNT, REGION, Stack
from tests.kit.machine import MACHINES
from tests.kit.needs import NotKnown, Permission
from tests.kit.template import Function, arn_of, listed, of_type
from tests.kit.wire import Call

type Parameters = Mapping[str, Any]

# Machines whose executions have an order as input.
HOLDING_TOKENS = ("OrderSaga", "OrderRecovery")
TRACING = ("xray:PutTelemetryRecords", "xray:PutTraceSegments")
SAMPLING = ("xray:GetSamplingRules", "xray:GetSamplingTargets")
_ON_ENCRYPTED_OBJECTS = {
    "s3:GetObject": ["kms:Decrypt"],
    "s3:HeadObject": ["kms:Decrypt"],
    "s3:PutObject": ["kms:GenerateDataKey"],
}


def granted(role: str, stack: Stack) -> set[Permission]:
    """The permissions of a role, with these parameters of the template."""
    policies = stack.resolve(of_type("AWS::IAM::Role")[role]["Policies"])
    statements = [one for policy in policies for one in policy["PolicyDocument"]["Statement"] if one]
    return {
        Permission(action, resource)
        for statement in statements
        for action in listed(statement["Action"])
        for resource in listed(statement["Resource"])
    }


def needed_by_lambda(function: Function, stack: Stack) -> set[Permission]:
    """The permissions that Lambda itself needs: logs, traces, and failure destinations."""
    log = stack.resolve({"Fn::GetAtt": [function.log_group, "Arn"]})
    needed = {Permission(action, log) for action in ("logs:CreateLogStream", "logs:PutLogEvents")}
    needed |= {Permission(action, "*") for action in TRACING}
    for settings in (function.properties.get("EventInvokeConfig", {}), *_sources(function)):
        destination = settings.get("DestinationConfig", {}).get("OnFailure")
        needed |= _to(destination["Type"], stack.resolve(destination["Destination"])) if destination else set()
        needed |= _from(stack.resolve(settings["Stream"])) if "Stream" in settings else set()
        needed |= _of_queue(stack.resolve(settings["Queue"])) if "Queue" in settings else set()
    if {"Ref": "OrderSaga"} in function.properties.get("Environment", {}).get("Variables", {}).values():
        needed |= _with_key(stack, "kms:Decrypt")
    return needed


def needed_by_machine(name: str, stack: Stack) -> set[Permission]:
    """The permissions that a state machine needs for tasks, log and traces. Raises NotKnown."""
    machine = replace(MACHINES[name], definition=stack.definition(name))
    needed = {Permission(action, "*") for action in LOG_DELIVERY if "LoggingConfiguration" in machine.properties}
    needed |= {
        Permission(action, "*") for action in (*TRACING, *SAMPLING) if "TracingConfiguration" in machine.properties
    }
    for state, task in machine.tasks():
        integration = task["Resource"].removesuffix(".waitForTaskToken")
        if integration not in _INTEGRATIONS:
            raise NotKnown(f"say in tests/kit/iam.py what {integration} of {state} needs")
        needed |= _INTEGRATIONS[integration](task["Parameters"], stack)
    for state in machine.states.values():
        needed |= _needed_by_map(stack.name(name), state) if "ItemReader" in state else set()
    return needed | (_with_key(stack, "kms:Decrypt", "kms:GenerateDataKey") if name in HOLDING_TOKENS else set())


def _needed_by_map(name: str, state: Parameters) -> set[Permission]:
    """The permissions for a Distributed Map's children, dataset and results. name: of the machine.

    https://docs.aws.amazon.com/step-functions/latest/dg/iam-policies-eg-dist-map.html
    """
    prefix = f"arn:aws:states:{REGION}:{ACCOUNT}"
    children = f"{prefix}:execution:{name}/{state['Label']}:*"
    objects = f"arn:aws:s3:::{state['ItemReader']['Parameters']['Bucket']}/work/*"
    uploads = ("AbortMultipartUpload", "GetObject", "ListMultipartUploadParts", "PutObject")
    return {
        Permission("states:StartExecution", f"{prefix}:stateMachine:{name}"),
        *(
            Permission(f"states:{action}", children)
            for action in ("DescribeExecution", "RedriveExecution", "StopExecution")
        ),
        *(Permission(f"s3:{action}", objects) for action in uploads),
    }


def _with_key(stack: Stack, *actions: str) -> set[Permission]:
    """The permissions on the operator's KMS key that machines with payment tokens, and their readers, need."""
    key = stack.parameters.get("StateMachineKeyArn")
    return {Permission(action, key) for action in actions if key}


def needed_by_encryption(call: Call, stack: Stack) -> set[Permission]:
    """The permissions on the KMS key of the bucket or topic that a call needs."""
    if call.operation == "sns:Publish":
        return _publish(call.parameters, stack)
    actions = _ON_ENCRYPTED_OBJECTS.get(call.operation)
    if not actions:
        return set()
    buckets = of_type("AWS::S3::Bucket")
    named = [stack.resolve(body) for name, body in buckets.items() if stack.name(name) == call.parameters.get("Bucket")]
    return {
        Permission(action, rule["ServerSideEncryptionByDefault"]["KMSMasterKeyID"])
        for body in named
        for rule in body["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        for action in actions
        if rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"
    }


def _sources(function: Function) -> Iterator[Parameters]:
    """The streams and queues that Lambda reads for the function. Other events need no permissions."""
    for event in function.properties.get("Events", {}).values():
        if event["Type"] in {"DynamoDB", "SQS"}:
            yield event["Properties"]
        elif event["Type"] not in {"EventBridgeRule", "Schedule"}:
            raise NotKnown(f"say in tests/kit/iam.py what an event of type {event['Type']} needs")


def _from(stream: str) -> set[Permission]:
    read = {Permission(f"dynamodb:{action}", stream) for action in ("DescribeStream", "GetRecords", "GetShardIterator")}
    return read | {Permission("dynamodb:ListStreams", "*")}


def _of_queue(queue: str) -> set[Permission]:
    return {Permission(f"sqs:{action}", queue) for action in ("DeleteMessage", "GetQueueAttributes", "ReceiveMessage")}


def _to(kind: str, destination: str) -> set[Permission]:
    match kind:
        case "SQS":
            return {Permission("sqs:SendMessage", destination)}
        case "S3":
            return {
                Permission("s3:ListBucket", destination),
                Permission("s3:PutObject", f"{destination}/aws/lambda/*"),
            }
    raise NotKnown(f"say in tests/kit/iam.py what a destination of type {kind} needs")


def _invoke(parameters: Parameters, _: Stack) -> set[Permission]:
    return {Permission("lambda:InvokeFunction", parameters["FunctionName"])}


def _publish(parameters: Parameters, stack: Stack) -> set[Permission]:
    """Every topic that the task may choose, with its key."""
    choice = parameters.get("TopicArn") or parameters["TopicArn.$"]
    topics = {stack.arn(name): body for name, body in of_type("AWS::SNS::Topic").items() if stack.arn(name) in choice}
    keys = {stack.arn(str(arn_of(body["KmsMasterKeyId"]))) for body in topics.values()}
    return {Permission("sns:Publish", topic) for topic in topics} | {
        Permission(action, key) for action in ("kms:Decrypt", "kms:GenerateDataKey") for key in keys
    }


def _run(parameters: Parameters, stack: Stack) -> set[Permission]:
    """The permissions to run a child execution and wait for it."""
    machine = str(stack.resolve(parameters["StateMachineArn"]))
    executions = f"{machine.replace(':stateMachine:', ':execution:')}:*"
    rule = f"arn:aws:events:{REGION}:{ACCOUNT}:rule/StepFunctionsGetEventsForStepFunctionsExecutionRule"
    return {
        Permission("states:StartExecution", machine),
        *(Permission(f"states:{action}", executions) for action in ("DescribeExecution", "StopExecution")),
        *(Permission(f"events:{action}", rule) for action in ("DescribeRule", "PutRule", "PutTargets")),
    }


_INTEGRATIONS: dict[str, Callable[[Parameters, Stack], set[Permission]]] = {
    "arn:aws:states:::lambda:invoke": _invoke,
    "arn:aws:states:::states:startExecution.sync:2": _run,
    "arn:aws:states:::sns:publish": _publish,
}
