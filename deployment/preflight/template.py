"""Checks the templates alone: `sam validate`, and CloudFormation's limits of one template."""

import subprocess
from collections.abc import Iterator

from deployment.application import files
from deployment.templates import load
from deployment.translation import translated
from local.emulator.emulator import ROOT

from .part import Finding, Verdict
from .target import Target

# From "Understand CloudFormation quotas" in the user guide; none can be raised. Bytes: of a template in S3.
LIMITS = {"Resources": 500, "Outputs": 200, "Parameters": 200, "bytes": 1_000_000}


def examine(target: Target) -> Iterator[Finding]:
    for path in files(target.path):
        command = ["sam", "validate", "--lint", "--template-file", str(path), "--region", target.region]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        said = "" if ended.returncode == 0 else (ended.stdout + ended.stderr).strip()
        yield Finding(f"{path.name}: sam validate --lint", Verdict.FAILED if said else Verdict.OK, said)
    yield from _limits(target)


def _limits(target: Target) -> Iterator[Finding]:
    """Each limit beside the largest value of any template."""
    templates = {path: translated(load(path), target.region) for path in files(target.path)}
    for what, limit in LIMITS.items():
        used, path = max(
            (path.stat().st_size if what == "bytes" else len(template.get(what, {})), path)
            for path, template in templates.items()
        )
        verdict = Verdict.OK if used <= limit else Verdict.FAILED
        yield Finding(what, verdict, f"{used:,} of {limit:,} in {path.name}")
