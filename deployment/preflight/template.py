"""Checks the template alone: `sam validate`, and CloudFormation's limits of one template."""

import subprocess
from collections.abc import Iterator

from local.emulator.emulator import ROOT

from .part import Finding, Verdict
from .target import Target

# From "Understand CloudFormation quotas" in the user guide; none can be raised. Bytes: of a template in S3.
LIMITS = {"Resources": 500, "Outputs": 200, "Parameters": 200, "bytes": 1_000_000}


def examine(target: Target) -> Iterator[Finding]:
    command = ["sam", "validate", "--lint", "--template-file", str(target.path), "--region", target.region]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = "" if ended.returncode == 0 else (ended.stdout + ended.stderr).strip()
    yield Finding("sam validate --lint", Verdict.FAILED if said else Verdict.OK, said)
    for what, limit in LIMITS.items():
        used = target.path.stat().st_size if what == "bytes" else len(target.translated.get(what, {}))
        yield Finding(what, Verdict.OK if used <= limit else Verdict.FAILED, f"{used:,} of {limit:,}")
