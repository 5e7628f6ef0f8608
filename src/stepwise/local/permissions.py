"""IAM permissions that CloudFormation needs to create, read, update and delete a resource.

The actions are those in AWS's schema of the resource's type, and IAM checks them on the ARNs of AWS's Service
Authorization Reference: cfn-lint ships both, and the SAM CLI ships cfn-lint. This module adds what they leave out: the
resource of an action, the property that it is for, and permissions beyond the type's own ("Configure logging for HTTP
APIs").
"""

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any
from urllib.parse import urlsplit

from .project import ROOT

OPERATIONS = ("create", "read", "update", "delete")

# Path in the SAM CLI's environment. The schemas of all Regions have the same actions.
_DATA, _REGION = "lib/python*/site-packages/cfnlint/data", "us-east-1"
# Names in the schemas that IAM does not have as actions: another action permits these operations.
_NOT_ACTIONS = {
    "apigateway:TagResource",
    "apigateway:UntagResource",
    "lambda:AssociateRuntimeAlias",
    "s3:DeleteBucketAnalyticsConfiguration",
    "s3:DeleteBucketCors",
    "s3:DeleteBucketEncryption",
    "s3:DeleteBucketLifecycle",
    "s3:DeleteBucketMetricsConfiguration",
    "s3:DeleteBucketReplication",
    "s3:GetObjectMetadata",
    "s3:PutBucketReplication",
    "s3:PutObjectLockConfiguration",
    "s3:REST.PUT.OBJECT",
    "s3:getObject",
}
# Actions on a resource whose tags IAM does not know yet.
_UNTAGGED = ("*:Create*", "kms:EnableKeyRotation", "kms:PutKeyPolicy")
# Only an administrator removes a permissions boundary.
_NEVER = {"iam:DeleteRolePermissionsBoundary"}
_SERVICES = {"ApiGatewayV2": "apigateway", "StepFunctions": "states"}
_ALL = "*"
# CreateDeployment needs them as well: the schema of a deployment group has them, that of an alias does not.
_REVISIONS = ("codedeploy:GetApplicationRevision", "codedeploy:RegisterApplicationRevision")
_API_LOGS = "ops.apigateway.amazonaws.com"
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
# Condition keys and values that IAM evaluates with each action.
_CONTEXT = {
    "iam:CreateServiceLinkedRole": {"iam:AWSServiceName": _API_LOGS},
    "iam:PassRole": {"iam:PassedToService": "{receiver}"},
    "iam:*RolePolicy": {"iam:PermissionsBoundary": "{PermissionsBoundary}", "iam:PolicyARN": "{ManagedPolicyArns}"},
    "iam:CreateRole": {"iam:PermissionsBoundary": "{PermissionsBoundary}"},
    "iam:PutRolePermissionsBoundary": {"iam:PermissionsBoundary": "{PermissionsBoundary}"},
    "kms:Decrypt": {"kms:ViaService": "states.{region}.amazonaws.com"},
    "kms:GenerateDataKey": {"kms:ViaService": "states.{region}.amazonaws.com"},
    # CloudFormation calls GetEventSourceMapping until the mapping is gone; that last request names no function.
    "lambda:[!G]*EventSourceMapping": {
        "lambda:FunctionArn": "arn:{partition}:lambda:{region}:{account}:function:{function}"
    },
}
# Services that assume the role of a resource.
_RECEIVERS = {
    "AWS::CloudFormation::Stack": "cloudformation.amazonaws.com",
    "AWS::CodeDeploy::DeploymentGroup": "codedeploy.amazonaws.com",
    "AWS::Lambda::Function": "lambda.amazonaws.com",
    "AWS::StepFunctions::StateMachine": "states.amazonaws.com",
}


class Unknown(LookupError):
    """A resource type that this module or the environment does not know. The message names the fix."""


@dataclass(frozen=True, slots=True)
class Permission:
    """An action on an ARN. context: condition keys and their values."""

    action: str
    resource: str
    context: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Place:
    """Partition, Region and account of a stack. role: the ARN of the role that deploys it."""

    region: str
    account: str
    role: str
    partition: str = "aws"


@dataclass(frozen=True, slots=True)
class _Type:
    """Facts that the schema of a resource type leaves out.

    arns: ARNs of the resource. elsewhere: ARNs, separated by spaces, of actions on other resources.
    only_for: actions needed only if a property is set. also: extra actions for a property. A property may be nested.
    tagged: a tag names the resource's stack.
    """

    arns: tuple[str, ...]
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    only_for: Mapping[str, str] = field(default_factory=dict)
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tagged: bool = False


_FUNCTION = _Type(("arn:{partition}:lambda:{region}:{account}:function:{function}",))
_APIS = tuple("arn:{partition}:apigateway:{region}::/" + path for path in ("apis", "apis/{name}", "tags/{name}"))
_NESTED = "arn:{partition}:cloudformation:{region}:{account}:stack/{name}/1"
_CHANGE_SETS = tuple(f"cloudformation:{verb}ChangeSet" for verb in ("Create", "Describe", "Execute", "Delete"))
_TRANSFORM = "arn:{partition}:cloudformation:{region}:aws:transform/Serverless-2016-10-31"
_PACKAGE = "arn:{partition}:s3:::{packages}/package"
_CODEDEPLOY = "arn:{partition}:codedeploy:{region}:{account}:"
_TYPES = {
    "AWS::ApiGatewayV2::Api": _Type(_APIS),
    "AWS::ApiGatewayV2::Stage": _Type(
        _APIS,
        {"iam:*": f"arn:{{partition}}:iam::{{account}}:role/aws-service-role/{_API_LOGS}/AnyName"},
        also={"AccessLogSettings": (*LOG_DELIVERY, "iam:CreateServiceLinkedRole")},
    ),
    "AWS::CloudFormation::Stack": _Type(
        (_NESTED,),
        {
            "cloudformation:CreateChangeSet": f"{_TRANSFORM} {_NESTED}",
            "iam:PassRole": "{role}",
            "s3:GetObject": _PACKAGE,
        },
        {
            "EnableTerminationProtection": "cloudformation:UpdateTerminationProtection",
            "StackPolicyBody": "cloudformation:SetStackPolicy",
        },
        {
            "Tags": ("cloudformation:TagResource", "cloudformation:UntagResource"),
            # An update of the root stack may be a change set that includes those of nested stacks.
            "TemplateURL": (*_CHANGE_SETS, "s3:GetObject"),
        },
    ),
    # The handler also describes composite alarms, which IAM checks on all alarms.
    "AWS::CloudWatch::Alarm": _Type(
        ("arn:{partition}:cloudwatch:{region}:{account}:alarm:{name}",), {"cloudwatch:DescribeAlarms": _ALL}
    ),
    "AWS::CloudWatch::Dashboard": _Type(("arn:{partition}:cloudwatch::{account}:dashboard/{name}",)),
    "AWS::CodeDeploy::Application": _Type((_CODEDEPLOY + "application:{name}",)),
    "AWS::CodeDeploy::DeploymentGroup": _Type(
        (_CODEDEPLOY + "deploymentgroup:{ApplicationName}/{name}",),
        {
            "codedeploy:*ApplicationRevision": _CODEDEPLOY + "application:{ApplicationName}",
            "codedeploy:GetDeploymentConfig": _CODEDEPLOY + "deploymentconfig:CodeDeployDefault",
            "iam:PassRole": "{passed}",
        },
        {
            "Deployment": "codedeploy:*ApplicationRevision codedeploy:*Deployment",
            "OnPremisesInstanceTagFilters": "codedeploy:RegisterOnPremisesInstance",
        },
    ),
    "AWS::DynamoDB::Table": _Type(
        ("arn:{partition}:dynamodb:{region}:{account}:table/{name}",),
        only_for={
            "ContributorInsightsSpecification": "dynamodb:UpdateContributorInsights",
            "ImportSourceSpecification": "dynamodb:*Import dynamodb:ImportTable logs:* s3:*",
            "KMSMasterKeyId": "kms:*",
            "KinesisStreamSpecification": "dynamodb:*KinesisStreamingDestination kinesis:*",
            "Replicas": "dynamodb:*Replica dynamodb:*Item dynamodb:Query dynamodb:Scan iam:*",
            "ResourcePolicy": "dynamodb:*ResourcePolicy",
        },
    ),
    "AWS::Events::Rule": _Type(
        ("arn:{partition}:events:{region}:{account}:rule/{name}",), only_for={"RoleArn": "iam:*"}
    ),
    "AWS::IAM::Role": _Type(
        ("arn:{partition}:iam::{account}:role/{name}",),
        only_for={
            "ManagedPolicyArns": "iam:AttachRolePolicy iam:DetachRolePolicy",
            "PermissionsBoundary": "iam:PutRolePermissionsBoundary",
        },
    ),
    "AWS::KMS::Key": _Type(
        ("arn:{partition}:kms:{region}:{account}:key/{name}",),
        only_for={"Enabled": "kms:EnableKey kms:DisableKey"},
        tagged=True,
    ),
    "AWS::Lambda::Alias": _Type(
        _FUNCTION.arns,
        {
            "codedeploy:*ApplicationRevision": _CODEDEPLOY + "application:{ApplicationName}",
            "codedeploy:GetDeploymentConfig": _CODEDEPLOY + "deploymentconfig:CodeDeployDefault",
            "codedeploy:*": _CODEDEPLOY + "deploymentgroup:{ApplicationName}/{DeploymentGroupName}",
        },
        {
            "CodeDeployLambdaAliasUpdate": "codedeploy:*",
            "ProvisionedConcurrencyConfig": "lambda:*ProvisionedConcurrencyConfig",
        },
        {"CodeDeployLambdaAliasUpdate": _REVISIONS},
    ),
    "AWS::Lambda::EventInvokeConfig": _FUNCTION,
    "AWS::Lambda::EventSourceMapping": _Type(
        ("arn:{partition}:lambda:{region}:{account}:event-source-mapping:{name}",), only_for={"KmsKeyArn": "kms:*"}
    ),
    "AWS::Lambda::Function": _Type(
        _FUNCTION.arns,
        {"iam:PassRole": "{passed}", "lambda:GetLayerVersion": "{Layers}", "s3:*": _PACKAGE},
        {
            "CapacityProviderConfig": "lambda:PassCapacityProvider lambda:PutFunctionScalingConfig",
            "CodeSigningConfigArn": "lambda:*CodeSigningConfig",
            "FileSystemConfigs": "elasticfilesystem:* s3files:*",
            "KmsKeyArn": "kms:*",
            "RecursiveLoop": "lambda:PutFunctionRecursionConfig",
            "ReservedConcurrentExecutions": "lambda:*FunctionConcurrency",
            "RuntimeManagementConfig": "lambda:PutRuntimeManagementConfig",
            "S3ObjectVersion": "s3:GetObjectVersion",
            "VpcConfig": "ec2:*",
        },
    ),
    "AWS::Lambda::LayerVersion": _Type(
        ("arn:{partition}:lambda:{region}:{account}:layer:{name}:1",),
        {"lambda:PublishLayerVersion": "arn:{partition}:lambda:{region}:{account}:layer:{name}", "s3:*": _PACKAGE},
        {"S3ObjectVersion": "s3:GetObjectVersion"},
    ),
    "AWS::Lambda::Permission": _FUNCTION,
    "AWS::Lambda::Version": _Type(
        _FUNCTION.arns,
        only_for={
            "FunctionScalingConfig": "lambda:PutFunctionScalingConfig",
            "ProvisionedConcurrencyConfig": "lambda:*ProvisionedConcurrencyConfig",
            "RuntimePolicy": "lambda:PutRuntimeManagementConfig",
        },
    ),
    "AWS::Logs::LogGroup": _Type(
        ("arn:{partition}:logs:{region}:{account}:log-group:{name}",),
        only_for={
            "BearerTokenAuthenticationEnabled": "logs:PutBearerTokenAuthentication",
            "DataProtectionPolicy": "logs:PutDataProtectionPolicy logs:DeleteDataProtectionPolicy",
            "DeletionProtectionEnabled": "logs:PutLogGroupDeletionProtection",
            "FieldIndexPolicies": "logs:PutIndexPolicy logs:DeleteIndexPolicy",
            "KmsKeyId": "logs:AssociateKmsKey logs:DisassociateKmsKey",
            "ResourcePolicyDocument": "logs:*ResourcePolicy logs:CreateLogDelivery firehose:*",
        },
    ),
    "AWS::Logs::MetricFilter": _Type(("arn:{partition}:logs:{region}:{account}:log-group:{LogGroupName}",)),
    "AWS::S3::Bucket": _Type(
        ("arn:{partition}:s3:::{name}",),
        only_for={
            "AbacStatus": "s3:PutBucketAbac",
            "AccelerateConfiguration": "s3:PutAccelerateConfiguration",
            "AccessControl": "s3:*Acl",
            "AnalyticsConfigurations": "s3:PutAnalyticsConfiguration",
            "BucketEncryption": "s3:PutEncryptionConfiguration",
            "CorsConfiguration": "s3:PutBucketCORS",
            "IntelligentTieringConfigurations": "s3:PutIntelligentTieringConfiguration",
            "InventoryConfigurations": "s3:PutInventoryConfiguration",
            "LifecycleConfiguration": "s3:PutLifecycleConfiguration",
            "LoggingConfiguration": "s3:PutBucketLogging",
            "MetadataConfiguration": "s3:*BucketMetadata* s3:DeleteObject s3tables:*",
            "MetricsConfigurations": "s3:PutMetricsConfiguration",
            "NotificationConfiguration": "s3:PutBucketNotification",
            "ObjectLockConfiguration": "s3:PutBucketObjectLockConfiguration",
            "OwnershipControls": "s3:PutBucketOwnershipControls",
            "PublicAccessBlockConfiguration": "s3:PutBucketPublicAccessBlock",
            "ReplicationConfiguration": "s3:PutReplicationConfiguration iam:*",
            "VersioningConfiguration": "s3:PutBucketVersioning",
            "WebsiteConfiguration": "s3:PutBucketWebsite s3:DeleteBucketWebsite",
        },
    ),
    "AWS::S3::BucketPolicy": _Type(("arn:{partition}:s3:::{Bucket}",)),
    "AWS::SNS::Subscription": _Type(("{TopicArn}",), {"sns:*": "{TopicArn}"}, {"SubscriptionRoleArn": "iam:*"}),
    "AWS::SNS::Topic": _Type(
        ("arn:{partition}:sns:{region}:{account}:{name}",),
        only_for={
            "DataProtectionPolicy": "sns:PutDataProtectionPolicy",
            "DeliveryStatusLogging": "iam:*",
            "Subscription": "sns:Subscribe sns:Unsubscribe",
        },
    ),
    "AWS::SQS::Queue": _Type(("arn:{partition}:sqs:{region}:{account}:{name}",)),
    "AWS::SQS::QueuePolicy": _Type(("arn:{partition}:sqs:{region}:{account}:{queues}",)),
    "AWS::SecretsManager::Secret": _Type(
        ("arn:{partition}:secretsmanager:{region}:{account}:secret:{name}-Ab12Cd",),
        only_for={
            "ReplicaRegions": "secretsmanager:ReplicateSecretToRegions secretsmanager:RemoveRegionsFromReplication"
        },
        tagged=True,
    ),
    "AWS::StepFunctions::StateMachine": _Type(
        ("arn:{partition}:states:{region}:{account}:stateMachine:{name}",),
        {"iam:PassRole": "{passed}", "s3:*": _PACKAGE, "kms:*": "{key}"},
        {"KmsKeyId": "kms:*", "Version": "s3:GetObjectVersion"},
    ),
}


def needed(
    kind: str, name: str, body: Mapping[str, Any], place: Place, operations: tuple[str, ...] = OPERATIONS
) -> set[Permission]:
    """Return the permissions that operations on a resource need. Raises Unknown.

    name: the resource's name or id. body: its resolved properties and UpdatePolicy.
    """
    if kind not in _TYPES:
        raise Unknown(f"say in {__name__} on which ARNs IAM checks the actions of {kind}")
    described, values, found = _TYPES[kind], _values(kind, name, body, place), set()
    relevant = described.only_for.keys() | described.also.keys()
    for action in _actions(kind, frozenset(relevant.intersection(_keys(body))), operations):
        for arn in _checked(kind, action):
            for tags in _tags(action, body) if described.tagged else [frozenset[tuple[str, str]]()]:
                context = _context(action, values) | tags
                found |= {Permission(action, resource, context) for resource in _filled(arn, values)}
    return found


@cache
def _checked(kind: str, action: str) -> tuple[str, ...]:
    """Return the ARNs on which IAM checks an action for a type, with placeholders."""
    elsewhere = [arn for pattern, arn in _TYPES[kind].elsewhere.items() if fnmatchcase(action, pattern)]
    known = reference(action)
    if elsewhere or not known:
        return tuple(elsewhere[0].split()) if elsewhere else (_ALL,)
    found = tuple(arn for arn in _TYPES[kind].arns if any(fnmatchcase(arn, pattern) for pattern in known))
    if not found:
        raise Unknown(f"say in {__name__} on which ARN IAM checks {action} of {kind}")
    return found


@cache
def _actions(kind: str, used: frozenset[str], operations: tuple[str, ...]) -> frozenset[str]:
    """Return the actions of these operations: the schema's, as far as the properties need them, and extra ones.

    A handler reads every property, set or not, but reads from another service only for a property that is set.
    """
    described, service = _TYPES[kind], kind.split("::")[1]
    own = _SERVICES.get(service, service.lower())
    found = {action for name in used & described.also.keys() for action in described.also[name]}
    for operation in operations:
        for action in handlers(kind).get(operation, ()):
            is_read = operation == "read" and action.startswith(f"{own}:")
            users = {name for name, actions in described.only_for.items() if _any(action, actions.split())}
            found |= {action} if is_read or not users or used & users else set()
    return frozenset(found - _NOT_ACTIONS - _NEVER)


def _any(action: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(action, pattern) for pattern in patterns)


def _keys(value: Any) -> Iterator[str]:
    """Yield every key of a value, at any depth."""
    if isinstance(value, Mapping):
        yield from value
        for inner in value.values():
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)


def _values(kind: str, name: str, body: Mapping[str, Any], place: Place) -> dict[str, list[str]]:
    """Return the values of placeholders in ARNs and condition keys."""
    properties = body | body.get("CodeDeployLambdaAliasUpdate", {})
    roles = ("Role", "RoleArn", "ServiceRoleArn")
    named = {
        "account": place.account,
        "function": str(properties.get("FunctionName", name)).partition(":function:")[2]
        or properties.get("FunctionName", name),
        "key": properties.get("EncryptionConfiguration", {}).get("KmsKeyId", []),
        "name": name,
        "packages": [*_packages(body)],
        "partition": place.partition,
        "passed": next((properties[role] for role in roles if role in properties), ""),
        "queues": [str(queue).rpartition("/")[2] for queue in properties.get("Queues", [])],
        "receiver": _RECEIVERS.get(kind, ""),
        "region": place.region,
        "role": place.role,
    }
    return {key: value if isinstance(value, list) else [str(value)] for key, value in (properties | named).items()}


def _packages(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the bucket of a resource's package, if there is one."""
    for name in ("Code", "Content", "DefinitionS3Location"):
        if isinstance(body.get(name), Mapping):
            yield from (body[name][key] for key in ("S3Bucket", "Bucket") if key in body[name])
    if "TemplateURL" in body:
        address = urlsplit(body["TemplateURL"])
        yield address.netloc if address.scheme == "s3" else address.path.split("/")[1]


def _filled(pattern: str, values: Mapping[str, list[str]]) -> list[str]:
    """Expand a pattern, once for each value of a placeholder; a placeholder without values yields nothing."""
    filled = [pattern]
    for name in {name for _, name, _, _ in Formatter().parse(pattern) if name}:
        filled = [one.replace(f"{{{name}}}", value) for one in filled for value in values.get(name, [])]
    return filled


def _context(action: str, values: Mapping[str, list[str]]) -> frozenset[tuple[str, str]]:
    keys = (keys for pattern, keys in _CONTEXT.items() if fnmatchcase(action, pattern))
    return frozenset((key, value) for one in keys for key, pattern in one.items() for value in _filled(pattern, values))


def _tags(action: str, body: Mapping[str, Any]) -> list[frozenset[tuple[str, str]]]:
    """Return the tags that IAM sees with an action, once for each call that may be made: at creation, or later."""
    requested, known = (
        frozenset((f"aws:{kind}/{tag['Key']}", str(tag["Value"])) for tag in body.get("Tags", []))
        for kind in ("RequestTag", "ResourceTag")
    )
    if action.endswith(":TagResource"):
        return [requested, known]
    return [frozenset()] if _any(action, _UNTAGGED) else [known]


@cache
def handlers(kind: str) -> Mapping[str, list[str]]:
    """Return the actions of each operation in AWS's schema of a type. Raises Unknown."""
    place = _data() / "schemas"
    names: dict[str, str] = json.loads((place / "providers" / f"{_REGION}.json").read_text())
    if kind not in names:
        raise Unknown(f"cfn-lint has no schema of {kind}")
    schema = json.loads((place / "resources" / f"{names[kind]}.json").read_text())
    return {operation: body["permissions"] for operation, body in schema.get("handlers", {}).items()}


@cache
def _data() -> Path:
    """Return cfn-lint's folder in the environment of the SAM CLI."""
    sam = shutil.which("sam", path=os.pathsep.join([str(ROOT / ".venv-sam/bin"), os.environ["PATH"]]))
    found = [*Path(sam).resolve().parents[1].glob(_DATA)] if sam else []
    if not found:
        raise Unknown("the schemas of resource types need the SAM CLI, installed in a virtual environment")
    return found[0]


@cache
def reference(action: str) -> frozenset[str]:
    """Return the ARN patterns on which IAM checks an action; empty if it checks the action on all resources.

    Raises Unknown if IAM does not have the action.
    """
    service, _, name = action.partition(":")
    actions, resources = (_authorization()[service][part] for part in ("Actions", "Resources"))
    if name.lower() not in actions:
        raise Unknown(f"IAM has no action {action}")
    kinds = actions[name.lower()].get("Resources", [])
    formats = (one for kind in kinds for one in resources[kind.lower()]["ARNFormats"])
    return frozenset(re.sub(r"\$\{\w+\}|\.\*", "*", one) for one in formats)


@cache
def _authorization() -> dict[str, Any]:
    """Return the Service Authorization Reference, as cfn-lint has it."""
    found: dict[str, Any] = json.loads((_data() / "AdditionalSpecs" / "Policies.json").read_text())
    return found
