"""Checks that tables with rows are protected from deletion, but that tables are unprotected in a first deployment."""

from collections.abc import Iterator
from typing import Any

from stepwise.local.deployment import FAILED_CREATION, resources

from .part import Finding, Verdict
from .target import Target

_TABLE = "AWS::DynamoDB::Table"
_SUBJECT = "DeletionProtection"


def examine(target: Target) -> Iterator[Finding]:
    """Examine the parameter DeletionProtection, which sets the tables' property DeletionProtectionEnabled."""
    tables = target.resolver.resources(_TABLE).items()
    unprotected = {name for name, properties in tables if properties.get("DeletionProtectionEnabled") == "false"}
    if target.deployed is None or target.deployed.status in {*FAILED_CREATION, "REVIEW_IN_PROGRESS"}:
        if unprotected:
            yield Finding(_SUBJECT, Verdict.OK, "off: if the first deployment fails, it can delete its tables")
        else:
            detail = "leave it off in the first deployment: if that fails, it cannot delete protected tables"
            yield Finding(_SUBJECT, Verdict.FAILED, detail)
        return
    with_rows = sorted(_with_rows(target, unprotected)) if unprotected else []
    if with_rows:
        yield Finding(
            _SUBJECT, Verdict.FAILED, f"off, but these tables have rows: {', '.join(with_rows)}; switch it on"
        )
    else:
        yield Finding(_SUBJECT, Verdict.OK, "off, and there are no rows" if unprotected else "on")


def _with_rows(target: Target, tables: set[str]) -> Iterator[str]:
    """Yield the given tables that have rows in the deployed stack."""
    dynamodb: Any = target.client("dynamodb")
    for one in resources(target.client("cloudformation"), target.stack_name):
        name = one["LogicalResourceId"]
        # DescribeTable's ItemCount may be six hours old.
        if name in tables and dynamodb.scan(TableName=one["PhysicalResourceId"], Limit=1, Select="COUNT")["Count"]:
            yield name
