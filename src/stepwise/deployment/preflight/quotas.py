"""Compares the account's quotas, from Service Quotas, with what the template and its orders need."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stepwise.deployment.application import files

from .concurrency import Limits
from .part import Finding, Verdict
from .target import Target

# Per order, counted in docs/benchmarks.md: the longest path through the saga, and all of its functions together, with
# a margin for cold starts.
TRANSITIONS = 8
FUNCTION_SECONDS = 1.0
# Default of an established account.
_CONCURRENCY = 1_000


@dataclass(frozen=True, slots=True)
class Quota:
    """A needed quota. code: the code in Service Quotas. words: words of the quota's name, if its code is unknown.

    parts: a breakdown of the need. usual: the value to request, unless more is needed.
    """

    service: str
    what: str
    needed: float
    code: str = ""
    words: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    usual: float = 0

    def is_meant(self, listed: Mapping[str, Any]) -> bool:
        name = listed["QuotaName"].lower()
        return listed["QuotaCode"] == self.code or (bool(self.words) and all(word in name for word in self.words))


def needed(target: Target, orders: float) -> list[Quota]:
    """Return the needed quotas. orders: per second, at peak."""

    def count(kind: str) -> int:
        return len(target.resolver.resources(kind))

    return [
        _concurrency(target, orders),
        Quota("states", "executions started per second", orders, words=("startexecution", "refill")),
        Quota("states", "state transitions per second", orders * TRANSITIONS, words=("statetransition", "refill")),
        Quota("dynamodb", "tables", count("AWS::DynamoDB::Table"), code="L-F98FE922"),
        Quota("events", "rules", count("AWS::Events::Rule"), code="L-244521F2"),
        Quota("s3", "buckets", count("AWS::S3::Bucket"), code="L-DC2B2D3D"),
        Quota("cloudformation", "stacks", len(list(files(target.path))), code="L-0485CB21"),
        Quota("connect", "Connect instances", 1, code="L-AA17A6B9"),
    ]


def _concurrency(target: Target, orders: float) -> Quota:
    """Add up the concurrent invocations of orders and of everything that the template limits."""
    kinds = [(kind, counts) for kind, counts in Limits(target).kinds() if counts]
    own = orders * FUNCTION_SECONDS
    parts = [f"{sum(counts.values())} {kind}: {_most(counts)}" for kind, counts in kinds]
    return Quota(
        "lambda",
        "concurrent executions",
        own + sum(sum(counts.values()) for _, counts in kinds),
        code="L-B99A9384",
        parts=(f"{own:g} orders, at {orders:g} a second", *parts),
        usual=_CONCURRENCY,
    )


def _most(counts: Mapping[str, int]) -> str:
    """Format the three largest counts."""
    largest = sorted(counts, key=lambda name: (-counts[name], name))
    return ", ".join(
        [
            *(f"{name.removesuffix('Function')} {counts[name]}" for name in largest[:3]),
            *(["..."] if len(counts) > 3 else []),
        ]
    )


def examine(target: Target, orders: float) -> Iterator[Finding]:
    client, listed = target.client("service-quotas"), dict[str, list[Any]]()
    for quota in needed(target, orders):
        if quota.service not in listed:
            listed[quota.service] = _listed(client, quota.service)
        # The applied value comes first; the default applies if it was never raised.
        yield _compared(quota, next(filter(quota.is_meant, listed[quota.service]), None))


def _compared(quota: Quota, found: Mapping[str, Any] | None) -> Finding:
    """Compare a need with the account's quota, which is None if Service Quotas does not list it."""
    if found is None:
        detail = "\n".join((f"needed: {quota.needed:g}; Service Quotas does not list it", *quota.parts))
        return Finding(quota.what, Verdict.LOOK, detail)
    lines = [f"needed: {quota.needed:g}; quota: {found['Value']:g}, for the whole account", *quota.parts]
    if found["Value"] >= quota.needed:
        return Finding(quota.what, Verdict.OK, "\n".join(lines))
    wanted = math.ceil(max(quota.needed, quota.usual))
    increase = (
        "request an increase first, which may take days: aws service-quotas request-service-quota-increase "
        f"--service-code {quota.service} --quota-code {found['QuotaCode']} --desired-value {wanted}"
    )
    return Finding(quota.what, Verdict.FAILED, "\n".join([*lines, increase]))


def _listed(client: Any, service: str) -> list[Any]:
    """Return the applied quotas, then AWS's defaults. None if the Region has no such service."""
    operations = ("list_service_quotas", "list_aws_default_service_quotas")
    pages = (client.get_paginator(operation).paginate(ServiceCode=service) for operation in operations)
    try:
        return [quota for each in pages for page in each for quota in page["Quotas"]]
    except client.exceptions.NoSuchResourceException:
        return []
