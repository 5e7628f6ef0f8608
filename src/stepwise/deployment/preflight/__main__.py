"""The command: runs each part, prints a table, and fails if a part failed."""

import argparse
import sys
from collections.abc import Sequence

from rich.table import Table

from stepwise.deployment.stages import pairs
from stepwise.local import terminal
from stepwise.local.drawing import Screen, Text

from . import change_set, policies, protection, quotas, template
from .part import Part, Verdict, examined
from .target import Target

_COLORS = {Verdict.OK: "green", Verdict.LOOK: "yellow", Verdict.FAILED: "red"}


def preflight(target: Target, bucket: str, orders: float) -> list[Part]:
    """Run every part, even if others fail."""
    return [
        examined("Template", lambda: template.examine(target)),
        examined("Change set, not executed", lambda: change_set.examine(target, bucket)),
        examined("Protection of tables", lambda: protection.examine(target)),
        examined("State machines, by Step Functions", lambda: policies.examine_machines(target)),
        examined("Roles, by Access Analyzer", lambda: policies.examine(target)),
        examined(f"Quotas, for {orders:g} orders a second", lambda: quotas.examine(target, orders)),
    ]


def shown(part: Part) -> Table:
    table = Table("verdict", "what", "detail", title=part.title, title_justify="left")
    for finding in part.findings:
        table.add_row(Text(finding.verdict, style=_COLORS[finding.verdict]), finding.subject, finding.detail)
    if part.not_reached:
        table.add_row(Text("not reached", style="yellow"), "the rest" if part.findings else "all", part.not_reached)
    return table


def main(arguments: Sequence[str]) -> int:
    """Run the command. Returns 1 if a part failed that could run, 0 otherwise."""
    parser = argparse.ArgumentParser(prog="make preflight", description=__doc__)
    parser.add_argument("stack", help="name of the stack, which need not exist")
    parser.add_argument("parameters", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--bucket", default="", help="bucket for the template; default: sam deploy's")
    parser.add_argument("--orders", type=float, default=10, help="per second, at peak")
    chosen = parser.parse_intermixed_args(arguments)
    if not chosen.stack:
        parser.error("name the stack: make preflight STACK=stepwise-dev")
    try:
        target = Target(chosen.stack, pairs(chosen.parameters))
    except ValueError as error:
        parser.error(str(error))
    console, parts = Screen(), preflight(target, chosen.bucket, chosen.orders)
    for part in parts:
        console.print(shown(part))
    missed = [part.title for part in parts if part.not_reached]
    if missed:
        console.print(f"Could not run, so nothing is known about: {'; '.join(missed)}.")
    return int(any(part.failed for part in parts))


if __name__ == "__main__":
    terminal.install()
    sys.exit(main(sys.argv[1:]))
