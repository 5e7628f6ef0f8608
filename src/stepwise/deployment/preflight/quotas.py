"""Compares the account's quotas, from Service Quotas, with what the template and its orders need."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stepwise.deployment.application import files

from .part import Finding, Verdict
from .target import Target

# Per order, counted in docs/benchmarks.md: the longest path through the saga, and all of its functions together, with
# a margin for cold starts.
TRANSITIONS = 8
FUNCTION_SECONDS = 1.0
# Concurrent rows of an import: MaxConcurrency of user-import.
ROWS_AT_ONCE = 5


@dataclass(frozen=True, slots=True)
class Quota:
    """A needed quota. code: the code in Service Quotas. words: in the quota's name, if its code is unknown."""

    service: str
    what: str
    needed: float
    code: str = ""
    words: tuple[str, ...] = ()

    def is_meant(self, listed: Mapping[str, Any]) -> bool:
        name = listed["QuotaName"].lower()
        return listed["QuotaCode"] == self.code or (bool(self.words) and all(word in name for word in self.words))


def needed(target: Target, orders: float) -> list[Quota]:
    """Return the needed quotas. orders: per second, at peak."""

    def count(kind: str) -> int:
        return len(target.resolver.resources(kind))

    concurrency = orders * FUNCTION_SECONDS + ROWS_AT_ONCE
    return [
        Quota("lambda", "concurrent executions", concurrency, code="L-B99A9384"),
        Quota("states", "executions started per second", orders, words=("startexecution", "refill")),
        Quota("states", "state transitions per second", orders * TRANSITIONS, words=("statetransition", "refill")),
        Quota("dynamodb", "tables", count("AWS::DynamoDB::Table"), code="L-F98FE922"),
        Quota("events", "rules", count("AWS::Events::Rule"), code="L-244521F2"),
        Quota("s3", "buckets", count("AWS::S3::Bucket"), code="L-DC2B2D3D"),
        Quota("cloudformation", "stacks", len(list(files(target.path))), code="L-0485CB21"),
        Quota("connect", "Connect instances", 1, code="L-AA17A6B9"),
    ]


def examine(target: Target, orders: float) -> Iterator[Finding]:
    client, listed = target.client("service-quotas"), dict[str, list[Any]]()
    for quota in needed(target, orders):
        if quota.service not in listed:
            listed[quota.service] = _listed(client, quota.service)
        values = [one["Value"] for one in listed[quota.service] if quota.is_meant(one)]
        if not values:
            yield Finding(quota.what, Verdict.LOOK, f"needed: {quota.needed:g}; Service Quotas does not list it")
            continue
        # The applied value comes first; the default applies if it was never raised.
        enough = values[0] >= quota.needed
        detail = f"needed: {quota.needed:g}; quota: {values[0]:g}, for the whole account"
        yield Finding(quota.what, Verdict.OK if enough else Verdict.FAILED, detail)


def _listed(client: Any, service: str) -> list[Any]:
    """Return the applied quotas, then AWS's defaults. None if the Region has no such service."""
    operations = ("list_service_quotas", "list_aws_default_service_quotas")
    pages = (client.get_paginator(operation).paginate(ServiceCode=service) for operation in operations)
    try:
        return [quota for each in pages for page in each for quota in page["Quotas"]]
    except client.exceptions.NoSuchResourceException:
        return []
