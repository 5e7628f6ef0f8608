"""Schemathesis sends requests built from the API's document: no 5xx, nothing undocumented, no bad input accepted."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwise.deployment.openapi import DOCUMENT
from stepwise.local.deployment import deploy
from stepwise.local.emulator import emulator
from stepwise.operations.stack import Stack
from tests.kit.project import ROOT

# `make api-fuzz` sends 10,000.
CASES = int(os.environ.get("CASES", "1000"))
SCHEMATHESIS = ROOT / ".venv-verify" / "bin" / "st"
HOOKS = ROOT / "tests" / "verify" / "schemathesis_hooks.py"
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "missing_required_header",
    "unsupported_method",
)
# About 900 cases of the phase `coverage` do not depend on it.
EXAMPLES = max(10, (CASES - 900) // 12)


@pytest.fixture(scope="module")
def api() -> Iterator[str]:
    """The address of the API of a new stack."""
    with emulator.attached({"SFN_WAIT_SCALE": "0.005"}) as started:
        deploy(started.endpoint, started.log)
        yield Stack.local(started.endpoint).outputs["ApiUrl"]


@pytest.mark.timeout(9000)
def test_api_behaves_as_its_document_says(api: str, tmp_path: Path) -> None:
    options = ["--url", api, "--workers", "2", "--max-examples", str(EXAMPLES), "--checks", ",".join(CHECKS)]
    # Without a tenant, most requests are refused.
    options += ["--header", "X-Tenant-Code: tenant1", "--phases", "coverage,fuzzing", "--continue-on-failure"]
    # The timeout of API Gateway.
    options += ["--request-timeout", "30"]
    ran = subprocess.run(
        [SCHEMATHESIS, "run", DOCUMENT, *options],
        cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(HOOKS)},
        capture_output=True,
        text=True,
        check=False,
    )
    counted = re.search(r"([\d,]+) generated, ([\d,]+) passed", ran.stdout)

    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]
    assert counted is not None
    assert int(counted[1].replace(",", "")) >= CASES
