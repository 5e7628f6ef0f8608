"""Validates every definition with Step Functions, and every role's policies with IAM Access Analyzer."""

import json
from collections.abc import Iterator
from typing import Any

from .part import Finding, Verdict
from .resolve import Resolver
from .target import Target

type Policy = tuple[str, str, dict[str, Any]]

TRUST = "AWS::IAM::AssumeRolePolicyDocument"
_VERDICTS = {"ERROR": Verdict.FAILED, "SECURITY_WARNING": Verdict.FAILED}


def policies(resolver: Resolver) -> Iterator[Policy]:
    """Yield (role, policy name, policy) for every role: trust and permissions."""
    for role, properties in resolver.resources("AWS::IAM::Role").items():
        yield role, TRUST, properties["AssumeRolePolicyDocument"]
        for policy in properties.get("Policies", []):
            yield role, policy["PolicyName"], policy["PolicyDocument"]


def examine(target: Target) -> Iterator[Finding]:
    analyzer, clean = target.client("accessanalyzer"), 0
    for role, name, document in policies(target.resolver):
        kind = {"policyType": "IDENTITY_POLICY"}
        if name == TRUST:
            kind = {"policyType": "RESOURCE_POLICY", "validatePolicyResourceType": TRUST}
        pages = analyzer.get_paginator("validate_policy").paginate(policyDocument=json.dumps(document), **kind)
        found = [one for page in pages for one in page["findings"]]
        clean += not found
        for one in found:
            verdict = _VERDICTS.get(one["findingType"], Verdict.LOOK)
            yield Finding(f"{role}: {one['issueCode']}", verdict, one["findingDetails"])
    yield Finding(f"{clean} policies", Verdict.OK, "no finding")


def examine_machines(target: Target) -> Iterator[Finding]:
    client = target.client("stepfunctions")
    for name, definition in target.definitions():
        answer = client.validate_state_machine_definition(definition=definition, severity="WARNING")
        found = [f"{one.get('location', '')} {one['message']}".strip() for one in answer["diagnostics"]]
        worst = Verdict.LOOK if found else Verdict.OK
        yield Finding(name, Verdict.FAILED if answer["result"] == "FAIL" else worst, "\n".join(found))
