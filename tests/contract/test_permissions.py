"""Each role grants exactly what its function or state machine calls.

The calls are those that the handlers make for the sample events, for every answer of AWS. Without the slow tests, a
handler gets one unusual answer at a time, and only missing grants are found. The integration tests prove that IAM
evaluates the grants this way: their local stack checks every call of a function.
"""

import ast
import base64
import logging
import re
import ssl
from collections.abc import Callable, Iterator, Mapping, Set
from functools import cache
from pathlib import Path
from typing import Any

import certifi
import pytest
from botocore import xform_name
from botocore.session import get_session

from entities.registered import TYPES
from entities.types import EntityType, Policy
from idempotency import Unknown, Work
from imports import files
from runtime import exchange
from service_models import OPERATIONS
from tasks import table
from tasks.registered import TYPES as TASK_TYPES
from tasks.types import TaskType
from tests.contract.test_events import EVENTS, handler_of
from tests.kit.deployed_stack import Stack
from tests.kit.iam import granted, needed_by_encryption, needed_by_lambda, needed_by_machine
from tests.kit.machine import MACHINES
from tests.kit.needs import Permission, needed_by_call
from tests.kit.project import DEPLOYED, IDEMPOTENCY, read_json, sources
from tests.kit.project import FUNCTIONS as HOME
from tests.kit.service_authorization import reference
from tests.kit.tasks import Text
from tests.kit.template import FUNCTIONS, TEMPLATE, arn_of, listed, of_type
from tests.kit.webhook_answers import RECEIVER
from tests.kit.wire import Run, Wire

# One of the public authorities.
CERTIFICATE = re.findall(r"-----BEGIN.*?-----END CERTIFICATE-----", Path(certifi.where()).read_text(), re.DOTALL)[0]
# Parameter values that enable options.
OPTIONS = {
    "PaymentGatewayUrl": "https://gateway.example",
    "PaymentGatewaySecretArn": "arn:aws:secretsmanager:us-east-1:000000000000:secret:payment-gateway-AbCdEf",
    "CardProcessorUrl": "https://cards.example",
    "CardProcessorSecretArn": "arn:aws:secretsmanager:us-east-1:000000000000:secret:card-processor-AbCdEf",
    "AlertEmail": "alerts@example.com",
    "ConnectInstanceAlias": "another-alias",
    # The instance in the sample events.
    "ConnectInstanceArns": "arn:aws:connect:us-east-1:000000000000:instance/12345678-1234-1234-1234-123456789012",
    "AllowReset": "true",
    # The machine in the sample events.
    "ApprovalMachineArns": "arn:aws:states:us-east-1:000000000000:stateMachine:AccountOpening",
    "DeletionProtection": "true",
    "AllowedSecurityProfiles": "Supervisor",
    "UsersBucketKeyArn": "arn:aws:kms:us-east-1:000000000000:key/k-1",
    "WebhookReceivers": RECEIVER,
    "ApiJwtIssuer": "https://issuer.example",
    "ApiJwtAudience": "stepwise",
    "ApiCorsOrigins": "https://shop.example",
    "WebhookCaCertificate": base64.b64encode(ssl.PEM_cert_to_DER_cert(CERTIFICATE)).decode(),
    "StateMachineKeyArn": "arn:aws:kms:us-east-1:000000000000:key/1",
    "PermissionsBoundaryArn": "arn:aws:iam::000000000000:policy/boundary",
}
STACKS = {"plain": Stack(), "with every option": Stack(parameters=OPTIONS)}
# The bucket in the sample events, and the resource that it represents.
BUCKET, BUCKETS = re.compile(r"^bucket(?=/|$)"), "JobsBucket"
# Calls that Connect makes with the function's permissions, with or without tags.
AWS_OWN_CALLS = {"ds:CreateDirectory", "ds:CreateIdentityPoolDirectory"}
# Calls of the command line, which no function makes.
OPERATORS = ("idempotency/operators.py", "idempotency/dynamodb.py:read")
LEASED = TaskType("leased", Text, lambda *_: lambda *_: {}, Work("Leased", Unknown.HOLD))
# Our methods that have the name of a client's method.
OURS = {
    "commands/handlers.py:publish_command publish",
    "webhooks/handlers.py:subscribe_webhook subscribe",
    "webhooks/subscribing.py:Subscribing.subscribe subscribe",
    "runtime/exchange.py:Place.connect create_connection",
}
# Variables that a function gets because another one of its module reads them. A context whose handlers share one
# environment takes them from the template, and its lines from here.
OF_RECORDS = {"IDEMPOTENCY_TABLE", "RECORD_LIFETIME_DAYS"}
OF_IMPORTS = (
    "CheckInstanceExistence",
    "CountCsvFiles",
    "CreateInstance",
    "Initialize",
    "RegisterResult",
    "ResultCsvFileCreate",
)
UNREAD: dict[str, set[str]] = {
    **{f"{name}Function": {"ALLOWED_SECURITY_PROFILES", *OF_RECORDS} for name in OF_IMPORTS},
    "UserCreateFunction": {
        "ALLOW_RESET",
        "CONNECT_INSTANCE_ALIAS",
        "CONNECT_INSTANCE_ARNS",
        "MAX_IMPORT_ROWS",
        "STACK_ID",
        "STACK_NAME",
        "USER_FILE_PREFIX",
    },
    "StartUserImportFunction": OF_RECORDS,
}
TRANSACTION = {"Put", "Update", "Delete", "ConditionCheck"}

type Observed = Callable[[str, str], list[Run]]

every_stack = pytest.mark.parametrize("stack", STACKS)


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    logging.disable(logging.CRITICAL)
    with Wire() as cut, pytest.MonkeyPatch.context() as patch:
        # A short file is written in parts, too.
        patch.setattr(files, "_PART", 200)
        # No built-in type has this policy, but the roles must allow it.
        patch.setitem(TYPES._types, "ORDER", EntityType("ORDER", policy=Policy.SKIP))
        # Reading the public authorities takes longer than a handler.
        patch.setattr(exchange, "tls_context", cache(exchange.tls_context))
        # A task of a few items has no claim, and no built-in type has a lease.
        patch.setattr(table, "AT_ONCE", 1)
        patch.setitem(TASK_TYPES._types, "leased", LEASED)
        yield cut
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def observed(wire: Wire, pytestconfig: pytest.Config) -> Observed:
    """Every run of a function, in the stack of this name."""

    pairs = "not slow" not in pytestconfig.getoption("markexpr")

    @cache
    def runs(function: str, variables: frozenset[tuple[str, str]]) -> list[Run]:
        invoked = FUNCTIONS[function], dict(variables)
        return [run for event in events(function) for run in wire.runs(invoked[0], event, invoked[1], pairs=pairs)]

    return lambda function, stack: runs(function, environment(function, stack))


@pytest.fixture(scope="module")
def everything(observed: Observed) -> list[Run]:
    return [run for function in FUNCTIONS for stack in STACKS for run in observed(function, stack)]


@cache
def environment(function: str, stack: str) -> frozenset[tuple[str, str]]:
    sections = [TEMPLATE["Globals"]["Function"], FUNCTIONS[function].properties]
    variables = [STACKS[stack].resolve(section.get("Environment", {}).get("Variables", {})) for section in sections]
    return frozenset({name: str(value or "") for own in variables for name, value in own.items()}.items())


def events(function: str) -> Iterator[Any]:
    """The sample events of a function, with one of the stack's buckets."""
    for name, path in EVENTS.items():
        if handler_of(name) == FUNCTIONS[function].handler:
            yield renamed(read_json(path))


def renamed(value: Any) -> Any:
    match value:
        case str():
            return BUCKET.sub(STACKS["plain"].name(BUCKETS), value)
        case list():
            return [renamed(inner) for inner in value]
        case dict():
            return {key: renamed(inner) for key, inner in value.items()}
    return value


@cache
def needed_by_function(function: str, stack: str, observed: Observed) -> frozenset[Permission]:
    calls = {(call.operation, call.text): call for run in observed(function, stack) for call in run.calls}.values()
    needed = needed_by_lambda(FUNCTIONS[function], STACKS[stack]).union(*map(needed_by_call, calls))
    return frozenset(needed.union(*(needed_by_encryption(call, STACKS[stack]) for call in calls)))


def variables_read(function: str, observed: Observed) -> set[str]:
    return set().union(*(run.variables for stack in STACKS for run in observed(function, stack)))


def missing(needed: Set[Permission], grants: set[Permission]) -> set[Permission]:
    return {one for one in needed if not any(grant.covers(one) for grant in grants)}


def superfluous(needed: Set[Permission], grants: set[Permission]) -> set[Permission]:
    return {grant for grant in grants if not any(grant.covers(one) for one in needed)}


def allowing(role: str, actions: set[str]) -> Iterator[Mapping[str, Any]]:
    """The statements of a role on any of these actions, with the parameters' defaults."""
    for policy in STACKS["plain"].resolve(of_type("AWS::IAM::Role")[role]["Policies"]):
        yield from (one for one in policy["PolicyDocument"]["Statement"] if one and actions & {*listed(one["Action"])})


@cache
def operations() -> set[str]:
    """The client methods of every service that deployed code names."""
    known = get_session().get_available_services()
    texts = {node.value for _, node in nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    models = map(get_session().get_service_model, texts.intersection(known))
    return {xform_name(operation) for model in models for operation in model.operation_names}


@cache
def nodes() -> list[tuple[str, ast.AST]]:
    """Every node of the deployed code, with its function as "file:Class.method"."""
    homes = {path: HOME for package in DEPLOYED for path in sources(package)}
    homes |= {path: IDEMPOTENCY for path in homes if path.is_relative_to(IDEMPOTENCY)}
    trees = ((f"{path.relative_to(home)}:", ast.parse(path.read_text())) for path, home in homes.items())
    return [node for site, tree in trees for node in _within(tree, site)]


def _within(node: ast.AST, site: str) -> Iterator[tuple[str, ast.AST]]:
    todo = [(site, node)]
    while todo:
        site, node = todo.pop()
        for child in ast.iter_child_nodes(node):
            inner = site
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = f"{site}{'' if site.endswith(':') else '.'}{child.name}"
            yield inner, child
            todo.append((inner, child))


def calls_in_code() -> set[str]:
    """The uses of client methods, as "file:Class.method put_item"."""
    found = set()
    for site, node in nodes():
        match node:
            case ast.Attribute(attr=str(name)) if name in operations():
                found.add(f"{site} {name}")
            case ast.Call(func=ast.Attribute(attr="get_paginator" | "get_waiter"), args=[ast.Constant(value=name)]):
                found.add(f"{site} {name}")
    return found


def builders_in_code() -> set[str]:
    """The functions that build an action of a transaction."""
    dicts = ((site, node) for site, node in nodes() if isinstance(node, ast.Dict))
    return {
        site for site, node in dicts for key in node.keys if isinstance(key, ast.Constant) and key.value in TRANSACTION
    }


@every_stack
@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_has_the_grants_it_needs(function: str, stack: str, observed: Observed) -> None:
    grants = granted(str(FUNCTIONS[function].role), STACKS[stack])

    assert missing(needed_by_function(function, stack, observed), grants) == set()


@pytest.mark.slow
@every_stack
@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_has_no_unneeded_grants(function: str, stack: str, observed: Observed) -> None:
    grants = granted(str(FUNCTIONS[function].role), STACKS[stack])

    assert superfluous(needed_by_function(function, stack, observed), grants) == set()


@every_stack
@pytest.mark.parametrize("machine", MACHINES)
def test_state_machine_has_exactly_the_grants_it_needs(machine: str, stack: str) -> None:
    needed = needed_by_machine(machine, STACKS[stack])
    grants = granted(str(arn_of(MACHINES[machine].properties["RoleArn"])), STACKS[stack])

    assert missing(needed, grants) == set()
    assert superfluous(needed, grants) == set()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_role_may_create_only_tagged_resources(function: str, observed: Observed) -> None:
    tagging = [call for run in observed(function, "plain") for call in run.calls if "Tags" in call.parameters]
    for call in tagging:
        bound = {one.action for one in needed_by_call(call) if reference()[one.action].tags} - AWS_OWN_CALLS
        for statement in allowing(str(FUNCTIONS[function].role), bound):
            assert all(tag in str(statement["Condition"]) for tag in call.parameters["Tags"])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_gets_every_variable_that_it_reads(function: str, observed: Observed) -> None:
    assert variables_read(function, observed) <= FUNCTIONS[function].variables


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_reads_every_variable_that_it_gets(function: str, observed: Observed) -> None:
    unread = FUNCTIONS[function].variables - variables_read(function, observed)

    assert unread == UNREAD.get(function, set())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_was_observed_to_succeed(function: str, observed: Observed) -> None:
    assert any(run.ended_well for run in observed(function, "plain"))


@pytest.mark.slow
def test_no_call_in_the_code_is_missing(everything: list[Run]) -> None:
    """A sample event, or an answer in answers.py, must lead to each call."""
    calls = {(call.sites, call.operation) for run in everything for call in run.calls}
    seen = {f"{site} {xform_name(operation.partition(':')[2])}" for sites, operation in calls for site in sites}

    assert {call for call in calls_in_code() - seen - OURS if not call.startswith(OPERATORS)} == set()


@pytest.mark.slow
def test_service_models_have_exactly_the_called_operations(everything: list[Run]) -> None:
    session = get_session()
    kept = {
        f"{session.get_service_model(service).service_id.hyphenize()}:{name}"
        for service, names in OPERATIONS.items()
        for name in names
    }

    remedy = "say what is called in functions/service_models.py"
    assert {call.operation for run in everything for call in run.calls} == kept, remedy


@pytest.mark.slow
def test_no_transaction_action_is_missing(wire: Wire, everything: list[Run]) -> None:
    """A sample event, or an answer in answers.py, must lead to each action."""
    assert builders_in_code() - wire.entered == set()


def test_every_role_belongs_to_a_function_or_state_machine() -> None:
    roles = [one.properties["Role"] for one in FUNCTIONS.values()]
    roles += [one.properties["RoleArn"] for one in MACHINES.values()]

    assert set(of_type("AWS::IAM::Role")) == set(map(arn_of, roles))


def test_every_template_option_is_tested() -> None:
    assert set(OPTIONS) == {
        name for name, body in TEMPLATE["Parameters"].items() if body.get("Default") in ("", "false")
    }
