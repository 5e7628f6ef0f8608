"""The command: runs each part, prints a table, and fails if a part failed or could not run."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.table import Table

from stepwise.deployment.stages import pairs
from stepwise.local import terminal
from stepwise.local.drawing import Screen, Text

from . import change_set, policies, protection, quotas, stage_name, template
from .part import Finding, Part, Verdict, examined
from .target import Target

_COLORS = {Verdict.OK: "green", Verdict.LOOK: "yellow", Verdict.FAILED: "red"}


PARTS = ("template", "name", "change-set", "protection", "machines", "roles", "quotas")


def preflight(target: Target, chosen: argparse.Namespace) -> list[Part]:
    """Run every part that is not skipped, even if others fail."""
    title, orders = f"Quotas, for {chosen.orders:g} orders a second", chosen.orders
    parts: Mapping[str, tuple[str, Callable[[], Iterator[Finding]]]] = {
        "template": ("Template", lambda: template.examine(target)),
        "name": ("Name of the stack", lambda: stage_name.examine(target)),
        "change-set": (
            "Change set, not executed",
            lambda: change_set.examine(target, chosen.bucket, make=chosen.make_bucket),
        ),
        "protection": ("Protection of tables", lambda: protection.examine(target)),
        "machines": ("State machines, by Step Functions", lambda: policies.examine_machines(target)),
        "roles": ("Roles, by Access Analyzer", lambda: policies.examine(target)),
        "quotas": (title, lambda: quotas.examine(target, orders)),
    }
    return [examined(*parts[name]) for name in PARTS if name not in chosen.skip]


def shown(part: Part) -> Table:
    table = Table("verdict", "what", "detail", title=part.title, title_justify="left")
    for finding in part.findings:
        table.add_row(Text(finding.verdict, style=_COLORS[finding.verdict]), finding.subject, finding.detail)
    if part.not_reached:
        table.add_row(Text("not reached", style="yellow"), "the rest" if part.findings else "all", part.not_reached)
    return table


def main(arguments: Sequence[str]) -> int:
    """Run the command. Returns 1 if a part failed or could not run; 0 otherwise."""
    parser = argparse.ArgumentParser(prog="make preflight", description=__doc__)
    parser.add_argument("stack", help="name of the stack, which need not exist")
    parser.add_argument("parameters", nargs="*", metavar="NAME=VALUE")
    parser.add_argument("--bucket", default="", help="bucket for the template; default: sam deploy's")
    parser.add_argument("--make-bucket", action="store_true", help="create the bucket as sam deploy would, if missing")
    parser.add_argument("--orders", type=float, default=10, help="per second, at peak")
    parser.add_argument("--skip", type=str.split, default=[], help=f"parts to leave out: {', '.join(PARTS)}")
    chosen = parser.parse_intermixed_args(arguments)
    if not chosen.stack:
        parser.error("name the stack: make preflight STACK=stepwise-dev")
    if unknown := set(chosen.skip).difference(PARTS):
        parser.error(f"{min(unknown)}: SKIP takes {', '.join(PARTS)}")
    try:
        target = Target(chosen.stack, pairs(chosen.parameters))
    except ValueError as error:
        parser.error(str(error))
    console, parts = Screen(), preflight(target, chosen)
    for part in parts:
        console.print(shown(part))
    missed = [part.title for part in parts if part.not_reached]
    if chosen.skip:
        console.print(f"Left out: {', '.join(chosen.skip)}.")
    if missed:
        console.print(f"Failed, because nothing is known about: {'; '.join(missed)}. SKIP= leaves parts out.")
    return int(any(part.failed or part.not_reached for part in parts))


if __name__ == "__main__":
    terminal.install()
    sys.exit(main(sys.argv[1:]))
