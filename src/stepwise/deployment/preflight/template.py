"""Checks the templates alone: cfn-lint, and CloudFormation's limits of one template."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from stepwise.deployment.application import files
from stepwise.deployment.templates import load
from stepwise.deployment.translation import translated
from stepwise.local.emulator.emulator import ROOT

from .part import Finding, NotReached, Verdict
from .target import Target

# From "Understand CloudFormation quotas" in the user guide; none can be raised. Bytes: of a template in S3.
LIMITS = {"Resources": 500, "Outputs": 200, "Parameters": 200, "bytes": 1_000_000}


def examine(target: Target) -> Iterator[Finding]:
    yield from _linted(list(files(target.path)), target.region)
    yield from _limits(target)


def _linted(paths: list[Path], region: str) -> Iterator[Finding]:
    """Run cfn-lint as `sam validate --lint` does, which takes one file at a time, and four times as long."""
    command = ["cfn-lint", "--format", "json", "--regions", region, "--", *map(str, paths)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = json.loads(ended.stdout) if ended.stdout.strip() else []
    if ended.returncode and not found:
        raise NotReached(f"cfn-lint: {ended.stderr.strip()}")
    for path in paths:
        said = "; ".join(
            f"{one['Rule']['Id']} in line {one['Location']['Start']['LineNumber']}: {one['Message']}"
            for one in found
            if Path(one["Filename"]).resolve() == path.resolve()
        )
        yield Finding(f"{path.name}: cfn-lint", Verdict.FAILED if said else Verdict.OK, said)


def _limits(target: Target) -> Iterator[Finding]:
    """Yield each limit beside the largest value of any template."""
    templates = {path: translated(load(path), target.region) for path in files(target.path)}
    for what, limit in LIMITS.items():
        used, path = max(
            (path.stat().st_size if what == "bytes" else len(template.get(what, {})), path)
            for path, template in templates.items()
        )
        verdict = Verdict.OK if used <= limit else Verdict.FAILED
        yield Finding(what, verdict, f"{used:,} of {limit:,} in {path.name}")
