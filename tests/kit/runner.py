"""The identity that runs `make test-aws`, with only the permissions in docs/deployed-tests.md."""

import json
import re
from collections.abc import Iterator
from typing import Any

from stepwise.operations.stack import Stack
from tests.kit.project import ROOT

_DOCUMENT = ROOT / "docs" / "deployed-tests.md"
_ROW = re.compile(r"^\| (?P<of>[^|]+) \| (?P<actions>(?:`[a-z0-9]+:\w+`(?:, )?)+) \|$", re.MULTILINE)
_MACHINES = ("OrderSagaArn", "OrderRecoveryArn", "UserImportArn")


def credentials(stack: Stack) -> dict[str, str]:
    """Environment of a process that runs as a new role with these permissions."""
    iam, name = stack.client("iam"), "deployed-tests"
    trust = {"Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}]}
    arn = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))["Role"]["Arn"]
    policy = {"Version": "2012-10-17", "Statement": list(statements(stack))}
    iam.put_role_policy(RoleName=name, PolicyName=name, PolicyDocument=json.dumps(policy))
    granted = stack.client("sts").assume_role(RoleArn=arn, RoleSessionName="test")["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": granted["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": granted["SecretAccessKey"],
        "AWS_SESSION_TOKEN": granted["SessionToken"],
    }


def statements(stack: Stack) -> Iterator[dict[str, Any]]:
    """A statement for each row of the document's table."""
    for row in _ROW.finditer(_DOCUMENT.read_text()):
        actions = re.findall(r"`([^`]+)`", row["actions"])
        yield {"Effect": "Allow", "Action": actions, "Resource": list(_resources(stack, row["of"]))}


def _resources(stack: Stack, of: str) -> Iterator[str]:
    match of:
        case "the stack":
            yield "arn:aws:cloudformation:*:*:stack/stepwise/*"
        case "executions of the three":
            yield from (stack.outputs[machine].replace(":stateMachine:", ":execution:") + ":*" for machine in _MACHINES)
        case "every output `...FunctionArn`":
            yield from (value for name, value in stack.outputs.items() if name.endswith("FunctionArn"))
        case "the instance of Connect":
            yield "arn:aws:connect:*:*:instance/*"
        case _:
            for output in re.findall(r"`(\w+)`", of):
                yield from _arns(output, stack.outputs[output])


def _arns(output: str, value: str) -> Iterator[str]:
    if output.endswith("Table"):
        yield from (f"arn:aws:dynamodb:*:*:table/{value}", f"arn:aws:dynamodb:*:*:table/{value}/index/*")
    elif output.endswith("Bucket"):
        yield from (f"arn:aws:s3:::{value}", f"arn:aws:s3:::{value}/*")
    else:
        yield value
