"""Measures an application's consumption and cost, and how soon an execution resumes after a decision.

Usage: `make bench-applications`.
Real runs on a separate local stack, as in benchmarks.costs.
"""

import json
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from stepwise.cli import views
from stepwise.operations import applications, approvals
from stepwise.operations.orders import execution_arn, patiently
from stepwise.operations.stack import Stack

from .costs import consumption, entered, history
from .pricing import costs
from .results import show, size
from .stacks import metered

COUNT = size(10, 1)
_PRICES = Path(__file__).with_name("prices.json")
_MACHINES = ("AccountOpening", "AccountSetup")
# Decision per kind; none for a clean application.
KINDS = {"clean": "", "flagged, approved": "approve", "flagged, rejected": "reject"}


def main() -> None:
    prices = json.loads(_PRICES.read_text())
    used, latencies = {}, list[float]()
    with metered() as at:
        for kind, decision in KINDS.items():
            for prefix, count in size([("warm", 2), ("run", COUNT)], [("run", COUNT)]):
                latencies.clear()
                run = partial(_run, at.stack, f"{prefix}-{decision or 'clean'}", decision, count, latencies)
                use = consumption(at, run) / count
            used[kind] = use
            sys.stdout.write(f"{kind}: {use.transitions:.4g} transitions, {use.calls:.4g} calls\n")
            if latencies:
                median, worst = statistics.median(latencies), max(latencies)
                sys.stdout.write(
                    f"{kind}: continues {median:.2f} s after the decision (median; at most {worst:.2f} s)\n"
                )
    rows = []
    for kind, use in used.items():
        parts = costs(use, prices["prices"])
        figures = (use.transitions, use.invocations, use.writes, use.reads)
        dollars = [*parts.values(), sum(parts.values())]
        rows.append([kind, *(f"{figure:.4g}" for figure in figures), *(f"{1000 * cost:.4f}" for cost in dollars)])
    columns = ["of one; of 1,000", "transitions", "invocations", "write units", "read units", *parts, "all"]
    show(
        "benchmarks.applications",
        views.table(f"Applications: consumed by one; {prices['currency']} for 1,000", columns, rows),
    )


def _run(stack: Stack, prefix: str, decision: str, count: int, latencies: list[float]) -> list[str]:
    """Run applications one after the other. Returns the ARNs of their executions."""
    found = []
    for number in range(count):
        own = f"{prefix}-{number}"
        document = _document(own)
        if not decision:
            body = b"%PDF-" + own.encode()
            stack.client("s3").put_object(
                Bucket=stack.outputs["DocumentsBucket"], Key=document["document_key"], Body=body
            )
        applications.submit(stack, document)
        if decision:
            decided = _decide(stack, f"account-opening.{own}.review", decision)
        for _ in applications.follow(stack, own):
            pass
        opening = execution_arn(stack, own, output="AccountOpeningArn")
        _wait(stack, opening)
        if decision:
            latencies.append(_went_on(stack, opening) - decided)
        found += [execution_arn(stack, own, output=f"{name}Arn") for name in _MACHINES[: 1 + (decision != "reject")]]
    return found


def _wait(stack: Stack, arn: str) -> None:
    """Wait until an execution has ended."""
    for _ in patiently(60):
        if stack.stepfunctions.describe_execution(executionArn=arn)["status"] != "RUNNING":
            return


def _decide(stack: Stack, approval_id: str, decision: str) -> float:
    """Make the decision. Returns when DecideApproval was called."""
    for _ in patiently(60):
        if approval_id in [one.id for one in approvals.waiting(stack)]:
            break
    at = time.time()
    approvals.decide(stack, approval_id, decision, "reviewer", "")
    return at


def _went_on(stack: Stack, arn: str) -> float:
    """Return when the execution entered the state after the wait."""
    (at,) = (one["timestamp"].timestamp() for one in history(stack, arn) if entered(one) == "Review Approved?")
    return float(at)


def _document(own: str) -> dict[str, Any]:
    return {
        "application_id": own,
        "name": f"Ada {own}",
        "date_of_birth": "1990-12-10",
        "address": {"line1": f"{own} Elm Street", "city": "Springfield", "postal_code": "12345", "country": "US"},
        "document_key": f"documents/{own}",
    }


if __name__ == "__main__":
    main()
