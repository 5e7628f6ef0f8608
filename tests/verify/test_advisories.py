"""No pinned package has a known vulnerability or was yanked."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kit.project import PINS, ROOT, relative_name

AUDIT = ROOT / ".venv-verify" / "bin" / "pip-audit"
# The error that requests raises if the database is unreachable.
OFFLINE = ("ConnectionError", "ConnectTimeout", "ProxyError", "SSLError")

every_file = pytest.mark.parametrize("pins", PINS, ids=relative_name)


def uv() -> str:
    return shutil.which("uv") or str(ROOT / ".venv-uv" / "bin" / "uv")


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=300, check=False)


@every_file
def test_no_vulnerability_is_known(pins: Path, pass_over: Callable[[str, str], None]) -> None:
    audit = run(AUDIT, "--strict", "--no-deps", "--disable-pip", "--vulnerability-service", "osv", "-r", pins)
    if audit.returncode and any(error in audit.stderr for error in OFFLINE):
        pass_over("advisories", f"pip-audit cannot reach its database, so {relative_name(pins)} was not looked up")

    assert audit.returncode == 0, audit.stdout + audit.stderr


@every_file
def test_no_release_was_yanked(pins: Path) -> None:
    """An index marks yanked releases, often because of a security flaw."""
    resolved = run(uv(), "pip", "compile", "--no-deps", "--no-header", "--python-version", "3.13", pins)

    assert resolved.returncode == 0, resolved.stderr
    assert "is yanked" not in resolved.stderr, resolved.stderr
