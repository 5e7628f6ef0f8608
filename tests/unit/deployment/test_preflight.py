"""The preflight: the findings of each part for AWS's answers, whose shape botocore checks."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from botocore.stub import ANY, Stubber

from benchmarks import results
from stepwise.deployment.application import files
from stepwise.deployment.preflight import change_set, policies, protection, quotas, stage_name, template
from stepwise.deployment.preflight.__main__ import main
from stepwise.deployment.preflight.part import Finding, NotReached, Part, Verdict, examined
from stepwise.deployment.preflight.resolve import Resolver, Unresolved
from stepwise.deployment.preflight.target import Target, definitions
from stepwise.deployment.stages import Deployed
from stepwise.deployment.templates import DEFINITION, MACHINE, SAM_DEFINITION, SAM_MACHINE, Template
from stepwise.deployment.translation import translated
from tests.kit.machine import MACHINES
from tests.kit.project import ROOT
from tests.kit.template import FUNCTIONS, TEMPLATE, of_type

ACCOUNT = "111122223333"
OPTIONS: list[dict[str, str]] = [{}, {"PaymentGatewayUrl": "https://gateway.example", "AlertEmail": "a@example.com"}]
STACK_ARN = f"arn:aws:cloudformation:us-east-1:{ACCOUNT}:stack/new/1"
CHANGE_SET = f"arn:aws:cloudformation:us-east-1:{ACCOUNT}:changeSet/preflight/1"
TEMPLATES = list(files(ROOT / "template.yaml"))


UNKNOWN_PROPERTY = """
Resources:
  Topic:
    Type: AWS::SNS::Topic
    Properties: {Nope: 1}
"""

SESSION = boto3.Session("a", "secret")


@cache
def translation(region: str) -> Template:
    return translated(TEMPLATE, region)


class Account(Target):
    """A target whose services return a test's answers, in order."""

    def says(self, service: str, operation: str, answer: Any, **sent: Any) -> None:
        self._stubs(service).add_response(operation, answer, sent or None)

    def refuses(self, service: str, operation: str, code: str, message: str = "") -> None:
        self._stubs(service).add_client_error(operation, code, message)

    def client(self, service: str) -> Any:
        return self._stubs(service).client

    def _stubs(self, service: str) -> Stubber:
        stubs: dict[str, Stubber] = self.__dict__.setdefault("stubs", {})
        if service not in stubs:
            make: Any = SESSION.client
            stubs[service] = Stubber(make(service, region_name=self.region))
            stubs[service].activate()
        return stubs[service]

    def done(self) -> bool:
        """True if all of a test's answers were used."""
        for service in set(self.__dict__["stubs"]) - {"sts"}:
            self._stubs(service).assert_no_pending_responses()
        return True


def account(deployed: Deployed | None = None, region: str = "us-east-1", **given: str) -> Account:
    made = Account("new", given)
    made.__dict__ |= {"region": region, "deployed": deployed, "template": TEMPLATE, "translated": translation(region)}
    made.says("sts", "get_caller_identity", {"Account": ACCOUNT})
    return made


def verdicts(part: Part) -> dict[str, Verdict]:
    return {finding.subject: finding.verdict for finding in part.findings}


# A part


@pytest.mark.parametrize(
    "reason",
    [
        EndpointConnectionError(endpoint_url="https://states"),
        ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "ValidatePolicy"),
        NotReached("no bucket"),
    ],
)
def test_unreachable_service_is_reported_without_failing(reason: Exception) -> None:
    def examine() -> Iterator[Finding]:
        yield Finding("a", Verdict.OK)
        raise reason

    part = examined("Part", examine)

    assert part.not_reached
    assert verdicts(part) == {"a": Verdict.OK}
    assert not part.failed


def test_invalid_request_is_a_failure() -> None:
    def examine() -> Iterator[Finding]:
        raise ClientError({"Error": {"Code": "ValidationError", "Message": "the template"}}, "CreateChangeSet")
        yield

    assert examined("Part", examine).findings == (Finding("CreateChangeSet", Verdict.FAILED, "the template"),)


# State machines


@pytest.mark.slow
@pytest.mark.parametrize(("region", "partition"), [("eu-west-1", "aws"), ("cn-north-1", "aws-cn")])
def test_definitions_have_the_arns_of_the_account(region: str, partition: str) -> None:
    definitions = dict(account(region=region).definitions())
    arns = re.findall(r"arn:[\w-]+:lambda:[^\"]+", "".join(definitions.values()))

    assert set(definitions) == set(of_type("AWS::StepFunctions::StateMachine"))
    assert "${" not in "".join(definitions.values())
    assert arns
    assert all(arn.startswith(f"arn:{partition}:lambda:{region}:{ACCOUNT}:function:new-") for arn in arns)


def test_definition_is_found_for_both_types_of_machines(tmp_path: Path) -> None:
    """A machine with events needs SAM's type."""
    (tmp_path / "a.asl.json").write_text('{"Comment": "${Who}"}')

    def machine(kind: str, place: str, role: str) -> dict[str, Any]:
        shared = {role: f"arn:aws:iam::{ACCOUNT}:role/r", "DefinitionSubstitutions": {"Who": "it"}}
        return {"Type": kind, "Properties": {place: "a.asl.json", **shared}}

    machines = {"A": machine(MACHINE, DEFINITION, "RoleArn"), "B": machine(SAM_MACHINE, SAM_DEFINITION, "Role")}
    both = {"Transform": "AWS::Serverless-2016-10-31", "Resources": machines}
    resolver = Resolver.to(translated(both, "us-east-1"), "us-east-1", ACCOUNT, "new", {})

    assert dict(definitions(both, resolver, tmp_path)) == dict.fromkeys("AB", '{"Comment": "it"}')


def test_definition_refused_by_step_functions_fails() -> None:
    target = account()
    diagnostic = {"severity": "ERROR", "code": "SCHEMA", "message": "no such state", "location": "/States/A/Next"}
    answers = [
        {"result": "FAIL", "diagnostics": [diagnostic]},
        {"result": "OK", "diagnostics": [{**diagnostic, "severity": "WARNING"}]},
        {"result": "OK", "diagnostics": []},
    ]
    for answer in answers:
        target.says("stepfunctions", "validate_state_machine_definition", answer, definition=ANY, severity="WARNING")

    part = examined("", lambda: policies.examine_machines(target))

    assert [finding.verdict for finding in part.findings] == [Verdict.FAILED, Verdict.LOOK, Verdict.OK]
    assert part.findings[0].detail == "/States/A/Next no such state"


# Roles


@pytest.mark.parametrize("options", OPTIONS)
def test_every_policy_of_every_role_is_examined(options: dict[str, str]) -> None:
    found = list(policies.policies(account(**options).resolver))
    trusts = [role for role, name, _ in found if name == policies.TRUST]

    assert sorted(trusts) == sorted(of_type("AWS::IAM::Role"))
    assert len(found) == 2 * len(trusts)
    assert not re.search(r'\$\{|"Fn::|"Ref"|null', json.dumps(found))


def test_findings_of_access_analyzer_fail_unless_suggestions() -> None:
    target = account()
    count = len(list(policies.policies(target.resolver)))
    kinds = ["ERROR", "SECURITY_WARNING", "WARNING", "SUGGESTION"]
    common = {"findingDetails": "why", "learnMoreLink": "https://aws", "locations": []}
    for kind in kinds:
        found = [{"findingType": kind, "issueCode": kind, **common}]
        target.says("accessanalyzer", "validate_policy", {"findings": found})
    for _ in range(count - len(kinds)):
        target.says("accessanalyzer", "validate_policy", {"findings": []})

    part = examined("", lambda: policies.examine(target))

    assert target.done()
    assert [finding.verdict for finding in part.findings[:4]] == [Verdict.FAILED] * 2 + [Verdict.LOOK] * 2
    assert part.findings[4] == Finding(f"{count - 4} policies", Verdict.OK, "no finding")


def test_unresolvable_value_is_named() -> None:
    with pytest.raises(Unresolved, match="Fn::Cidr"):
        account().resolver.resolve({"Fn::Cidr": ["10.0.0.0/16", 1, 8]})


# Quotas


def quota(code: str, name: str, value: float) -> dict[str, Any]:
    return {"QuotaCode": code, "QuotaName": name, "Value": value}


def with_quotas(concurrency: float) -> Account:
    target = account()
    rate = quota("L-1", "StartExecution throttle token refill rate per second", 150)
    lists = {
        "lambda": ([quota("L-B99A9384", "Concurrent executions", concurrency)], []),
        "states": ([], [rate, quota("L-2", "StartExecution throttle token bucket size", 1)]),
        "dynamodb": ([quota("L-F98FE922", "Maximum number of tables", 2500)], []),
        "events": ([quota("L-244521F2", "Number of rules", 400)], [quota("L-244521F2", "Number of rules", 1)]),
        "s3": ([quota("L-DC2B2D3D", "Buckets", 10_000)], []),
        "cloudformation": ([quota("L-0485CB21", "Stack count", 2000)], []),
    }
    for service, answers in lists.items():
        for operation, listed in zip(("list_service_quotas", "list_aws_default_service_quotas"), answers, strict=True):
            target.says("service-quotas", operation, {"Quotas": listed}, ServiceCode=service)
    target.refuses("service-quotas", "list_service_quotas", "NoSuchResourceException")
    return target


@pytest.mark.parametrize(("concurrency", "verdict"), [(10, Verdict.FAILED), (1000, Verdict.OK)])
def test_quota_is_shown_beside_the_need(concurrency: float, verdict: Verdict) -> None:
    target = with_quotas(concurrency)

    part = examined("", lambda: quotas.examine(target, orders=10))

    assert target.done()
    assert part.not_reached is None
    assert verdicts(part) == {
        "concurrent executions": verdict,
        "executions started per second": Verdict.OK,
        "state transitions per second": Verdict.LOOK,
        "tables": Verdict.OK,
        "rules": Verdict.OK,
        "stacks": Verdict.OK,
        "buckets": Verdict.OK,
        "Connect instances": Verdict.LOOK,
    }


def test_every_nested_stack_counts_towards_the_quota() -> None:
    needed = {quota.what: quota.needed for quota in quotas.needed(account(), orders=10)}

    assert needed["stacks"] == 1 + len(list((ROOT / "stacks").glob("*.yaml")))


def concurrency(**given: str) -> quotas.Quota:
    return quotas.needed(account(**given), orders=10)[0]


def test_concurrency_adds_up_the_limits_of_the_template() -> None:
    """RunJob runs at the same time as the items and messages that wait for it, and a stream has four shards."""
    parameters = {name: body.get("Default") for name, body in TEMPLATE["Parameters"].items()}
    events = [event for one in FUNCTIONS.values() for event in one.properties.get("Events", {}).values()]
    by_kind = {kind: [one["Properties"] for one in events if one["Type"] == kind] for kind in ("SQS", "DynamoDB")}
    queues = [one["ScalingConfig"]["MaximumConcurrency"] for one in by_kind["SQS"]]
    streams = [4 * one.get("ParallelizationFactor", 1) for one in by_kind["DynamoDB"]]
    sweeps = sum(one["Type"] == "Schedule" for one in events)
    (rows,) = (state["MaxConcurrency"] for _, state in maps("UserImport"))
    task_action = FUNCTIONS["TaskActionFunction"].properties["Events"]["Message"]["Properties"]["ScalingConfig"]

    assert concurrency().needed == sum(
        (
            *(10, parameters["ApiRequestRate"], *queues, task_action["MaximumConcurrency"], *streams, sweeps),
            *(parameters["ImportMaxConcurrency"], 2 * parameters["TaskMaxConcurrency"], rows),
        )
    )


def test_guide_states_the_concurrency_that_the_stack_needs() -> None:
    (asked,) = re.findall(r"if you have fewer than (\d+)\*\*", (ROOT / "docs" / "deploy.md").read_text())

    assert 0.75 * int(asked) < concurrency().needed <= int(asked)


def maps(machine: str) -> list[tuple[str, Any]]:
    return [(name, state) for name, state in MACHINES[machine].states.items() if state["Type"] == "Map"]


def test_concurrency_depends_on_the_parameters_of_the_stage() -> None:
    more = concurrency(ImportMaxConcurrency="50", TaskMaxConcurrency="40", ApiRequestRate="101")

    assert more.needed == concurrency().needed + 45 + 2 * 38 + 1


def test_account_with_ten_executions_must_request_an_increase() -> None:
    found, *_ = quotas.examine(with_quotas(10), orders=10)

    assert found.detail.splitlines()[1:4] == [
        "10 orders, at 10 a second",
        "100 requests of the HTTP API: HttpApiStage 100",
        "14 batches, items and rows: ImportCsv 5, UserImport 5, Task 4",
    ]
    assert found.detail.splitlines()[-1] == (
        "request an increase first, which may take days: aws service-quotas request-service-quota-increase "
        "--service-code lambda --quota-code L-B99A9384 --desired-value 1000"
    )


def test_order_needs_match_the_measured_counts() -> None:
    counted = [results.written("benchmarks.costs", case) for case in ("success", "decline", "out of stock")]

    assert max(float(one["transitions"]) for one in counted) == quotas.TRANSITIONS
    assert max(float(one["milliseconds"]) for one in counted) < 1000 * quotas.FUNCTION_SECONDS


# The change set


def begun(target: Account, status: str, **described: Any) -> None:
    """CloudFormation created a change set and returns its status."""
    for _ in TEMPLATES:
        target.says("s3", "put_object", {"VersionId": "v1"})
    target.says("cloudformation", "create_change_set", {"Id": CHANGE_SET, "StackId": STACK_ARN})
    for _ in range(2):
        target.says("cloudformation", "describe_change_set", {"Status": status, **described})


def ended(target: Account, events: list[Any], stack: str | None = None) -> None:
    """The calls that must follow: the findings of early validation, and the cleanup."""
    target.says("cloudformation", "describe_events", {"OperationEvents": events})
    target.says("cloudformation", "delete_change_set", {}, ChangeSetName=CHANGE_SET)
    if stack:
        found = {"StackName": "new", "StackStatus": stack, "CreationTime": 0}
        target.says("cloudformation", "describe_stacks", {"Stacks": [found]}, StackName=STACK_ARN)
    if stack == "REVIEW_IN_PROGRESS":
        target.says("cloudformation", "delete_stack", {}, StackName=STACK_ARN)
    for _ in TEMPLATES:
        target.says("s3", "delete_object", {}, Bucket="b", Key=ANY, VersionId="v1")


def change(resource: str, kind: str, action: str, replacement: str | None = None, **more: str) -> dict[str, Any]:
    body = {"LogicalResourceId": resource, "ResourceType": kind, "Action": action, **more}
    return {"Type": "Resource", "ResourceChange": body | ({"Replacement": replacement} if replacement else {})}


TABLES = ["OrdersTable", "ReportsTable"]
ON = {"DeletionProtection": "true"}
STANDING = Deployed({"LogRetentionDays": "7", "Gone": "1"}, "UPDATE_COMPLETE", "", {})


def test_change_set_that_would_empty_a_table_fails_and_leaves_nothing() -> None:
    target = account(STANDING)
    table, bucket = "AWS::DynamoDB::Table", "AWS::S3::Bucket"
    changes = [
        change("Orders", table, "Modify", "True"),
        change("Jobs", bucket, "Modify", "Conditional"),
        change("Old", table, "Remove"),
        change("Payments", table, "Modify", "False"),
        change("Topic", "AWS::SNS::Topic", "Modify", "True"),
    ]
    begun(target, "CREATE_COMPLETE", Changes=changes)
    ended(target, [])

    part = examined("", lambda: change_set.examine(target, "b"))

    assert target.done()
    assert verdicts(part) == {
        "Orders": Verdict.FAILED,
        "Jobs": Verdict.LOOK,
        "Old": Verdict.LOOK,
        "change set": Verdict.OK,
    }


def test_change_set_of_a_nested_stack_is_read() -> None:
    target = account(STANDING)
    below = change("Ordering", "AWS::CloudFormation::Stack", "Modify", "False", ChangeSetId=CHANGE_SET)
    begun(target, "CREATE_COMPLETE", Changes=[below])
    lost = {"Changes": [change("OrdersTable", "AWS::DynamoDB::Table", "Remove")]}
    target.says("cloudformation", "describe_change_set", lost, ChangeSetName=CHANGE_SET)
    ended(target, [])

    part = examined("", lambda: change_set.examine(target, "b"))

    assert target.done()
    assert verdicts(part) == {"OrdersTable": Verdict.LOOK, "change set": Verdict.OK}


@pytest.mark.parametrize("listed", [True, False])
def test_reason_of_a_nested_change_set_is_told(listed: bool) -> None:
    """AWS's message about the root names the nested change set, and not why it failed."""
    target = account(STANDING)
    nested, same, fine = (CHANGE_SET.replace("preflight/", f"{name}/") for name in ("Ordering", "Tasks", "Layers"))
    reason = f"Nested change set {nested} was not successfully created: Currently in FAILED."
    kind = "AWS::CloudFormation::Stack"
    changes = [change(one, kind, "Modify", ChangeSetId=id) for one, id in [("Tasks", same), ("Layers", fine)]]
    begun(target, "FAILED", StatusReason=reason, Changes=changes if listed else [])
    below = {"Status": "FAILED", "StatusReason": "Template error: no OrdersTable"}
    target.says("cloudformation", "describe_change_set", below, ChangeSetName=nested)
    if listed:
        below = {"Status": "FAILED", "StatusReason": "The submitted information didn't contain changes."}
        target.says("cloudformation", "describe_change_set", below, ChangeSetName=same)
        target.says("cloudformation", "describe_change_set", {"Status": "CREATE_COMPLETE"}, ChangeSetName=fine)
    ended(target, [])

    part = examined("", lambda: change_set.examine(target, "b"))

    assert target.done()
    assert part.findings == (
        Finding("change set", Verdict.FAILED, f"{reason}\n{change_set._TRY_WITHOUT}"),
        Finding("Ordering", Verdict.FAILED, "Template error: no OrdersTable"),
    )


def test_change_set_that_never_ends_is_a_failure() -> None:
    target = account(STANDING)
    target.says("cloudformation", "describe_change_set", {"Status": "CREATE_IN_PROGRESS"})

    (found,) = change_set._failed(target.client("cloudformation"), CHANGE_SET)

    assert (found.subject, found.verdict) == ("change set", Verdict.FAILED)


@pytest.mark.slow
@pytest.mark.parametrize("status", ["REVIEW_IN_PROGRESS", "CREATE_COMPLETE"])
def test_stack_created_by_a_change_set_is_deleted_unless_used(status: str) -> None:
    target = account()
    begun(target, "FAILED", StatusReason="early validation")
    found = {"EventId": "1", "ValidationStatus": "FAILED", "ValidationStatusReason": "exists", "LogicalResourceId": "T"}
    ended(target, [found, {**found, "LogicalResourceId": "U", "ValidationFailureMode": "WARN"}], stack=status)

    part = examined("", lambda: change_set.examine(target, "b"))

    assert target.done()
    assert verdicts(part) == {"change set": Verdict.FAILED, "T": Verdict.FAILED, "U": Verdict.LOOK}


def test_change_set_without_a_change_succeeds() -> None:
    target = account(STANDING)
    begun(target, "FAILED", StatusReason="The submitted information didn't contain changes.")
    ended(target, [])

    assert not examined("", lambda: change_set.examine(target, "b")).failed
    assert target.done()


def test_parameters_are_passed_or_kept() -> None:
    said = change_set._parameters(account(STANDING, AlertEmail="a@example.com"))

    assert said == [
        {"ParameterKey": "AlertEmail", "ParameterValue": "a@example.com"},
        {"ParameterKey": "LogRetentionDays", "UsePreviousValue": True},
    ]


def test_without_a_bucket_no_change_set_is_created() -> None:
    target = account()
    target.refuses("cloudformation", "describe_stacks", "ValidationError", "Stack with id x does not exist")

    reason = str(examined("", lambda: change_set.examine(target)).not_reached)

    assert re.findall(r"\w+=\w+", reason) == ["MAKE_BUCKET=1", "BUCKET=NAME"]


def test_bucket_that_sam_cannot_create_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    target = account()
    target.refuses("cloudformation", "describe_stacks", "ValidationError", "Stack with id x does not exist")
    failed = SimpleNamespace(returncode=1, stderr="AccessDenied\n")
    monkeypatch.setattr(change_set.subprocess, "run", lambda *_, **__: failed)

    assert examined("", lambda: change_set.examine(target, make=True)).not_reached == "sam package: AccessDenied"


# The name of the stack


def test_other_stacks_that_match_the_pattern_are_listed() -> None:
    target = account()
    standing = {"CreationTime": "2026-01-01", "StackStatus": "CREATE_COMPLETE"}
    nested = {**standing, "StackName": "new-Ordering-1A2B3C4D5E6F", "ParentId": "x"}
    deleted = {**standing, "StackName": "new-deleted", "StackStatus": "DELETE_COMPLETE"}
    roots = [{**standing, "StackName": name} for name in ("new", "new-dev", "news", "deploy-new")]
    target.says("cloudformation", "list_stacks", {"StackSummaries": [*roots, nested, deleted]})

    part = examined("", lambda: stage_name.examine(target))

    assert (part.not_reached, verdicts(part)) == (None, {"new": Verdict.OK, "new-dev": Verdict.LOOK})


def test_stack_name_that_cloudformation_truncates_causes_a_warning() -> None:
    target = account()
    target.__dict__["stack_name"] = "x" * 24
    target.says("cloudformation", "list_stacks", {"StackSummaries": []})

    assert verdicts(examined("", lambda: stage_name.examine(target))) == {"x" * 24: Verdict.LOOK}


# The protection of tables


def protected(status: str | None, rows: int = 0, **given: str) -> Part:
    target = account(Deployed({}, status, "", {}) if status else None, **given)
    if status == "CREATE_COMPLETE" and not given:
        common = {"ResourceType": "AWS::DynamoDB::Table", "LastUpdatedTimestamp": 0, "ResourceStatus": status}
        tables = [{"LogicalResourceId": name, "PhysicalResourceId": f"new-{name}", **common} for name in TABLES]
        target.says("cloudformation", "list_stack_resources", {"StackResourceSummaries": tables}, StackName="new")
        target.says("dynamodb", "scan", {"Count": rows}, TableName="new-OrdersTable", Limit=1, Select="COUNT")
    part = examined("", lambda: protection.examine(target))
    assert target.done()
    return part


@pytest.mark.parametrize(
    ("status", "rows", "given", "verdict"),
    [
        (None, 0, {}, Verdict.OK),
        ("REVIEW_IN_PROGRESS", 0, {}, Verdict.OK),
        (None, 0, ON, Verdict.FAILED),
        ("ROLLBACK_COMPLETE", 0, ON, Verdict.FAILED),
        ("CREATE_COMPLETE", 0, {}, Verdict.OK),
        ("CREATE_COMPLETE", 1, {}, Verdict.FAILED),
        ("CREATE_COMPLETE", 1, ON, Verdict.OK),
    ],
)
def test_rows_must_be_protected_after_the_first_deployment(
    status: str | None, rows: int, given: dict[str, str], verdict: Verdict
) -> None:
    """ReportsTable has no protection, because it can be rebuilt."""
    part = protected(status, rows, **given)

    assert (part.not_reached, verdicts(part)) == (None, {"DeletionProtection": verdict})


# The command


@pytest.mark.parametrize(
    ("part", "status"),
    [
        (Part("Roles", (Finding("a", Verdict.FAILED),)), 1),
        (Part("Roles", (Finding("a", Verdict.LOOK),)), 0),
        (Part("Roles", (), "AccessDenied"), 1),
    ],
)
def test_command_fails_if_a_part_failed_or_could_not_run(
    part: Part, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("stepwise.deployment.preflight.__main__.preflight", lambda *_: [part])

    assert main(["new", "--orders", "5"]) == status
    assert ("nothing is known about: Roles" in capsys.readouterr().out) == bool(part.not_reached)


def test_skipped_part_does_not_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ran: list[str] = []
    monkeypatch.setattr(
        "stepwise.deployment.preflight.__main__.examined", lambda title, _: (ran.append(title), Part(title, ()))[1]
    )

    assert main(["new", "--skip", "roles quotas"]) == 0
    assert [title.partition(",")[0] for title in ran] == [
        "Template",
        "Name of the stack",
        "Change set",
        "Protection of tables",
        "State machines",
    ]
    assert "Left out: roles, quotas." in capsys.readouterr().out


@pytest.mark.slow
def test_unknown_property_fails_with_its_rule_and_line(tmp_path: Path) -> None:
    path = tmp_path / "template.yaml"
    path.write_text(UNKNOWN_PROPERTY)
    found: Any = SimpleNamespace(path=path, region="us-east-1")
    linted, *_ = template.examine(found)

    assert (linted.subject, linted.verdict) == ("template.yaml: cfn-lint", Verdict.FAILED)
    assert linted.detail.startswith("E3002 in line 5: ")
    assert "'Nope' was unexpected" in linted.detail


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([""], "name the stack: make preflight STACK=stepwise-dev"),
        (["stepwise", "A"], "A: write NAME=VALUE"),
        (["stepwise", "--skip", "role"], "role: SKIP takes"),
    ],
)
def test_invalid_call_is_rejected(arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)

    assert why in capsys.readouterr().err
