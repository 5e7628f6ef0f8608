"""Who imports whom, and that importing does nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.project import DEPLOYED, FUNCTIONS, IDEMPOTENCY, ROOT, SERVICES, imported_packages, modules, sources

# Each service may import itself and these; the others are named one by one.
ARROWS = {
    **{service: {service, "saga", "runtime", "idempotency"} for service in SERVICES},
    "saga": {"saga", "runtime", "idempotency"},
    "runtime": {"runtime", "idempotency"},
    "idempotency": {"idempotency"},
}
PROJECT = {*DEPLOYED, "local", "tests", "benchmarks"}
THIRD_PARTY = {
    "boto3",
    "botocore",
    "mypy_boto3_connect",
    "mypy_boto3_dynamodb",
    "mypy_boto3_s3",
    "mypy_boto3_stepfunctions",
    "msgspec",
    "aws_xray_sdk",
    "requests",
}
# Deployed code does not know that it can run anywhere else, nor that it is being tested.
FORBIDDEN_WORDS = ("localhost", "127.0.0.1", "ministack", "is_local", "test_mode")
# The X-Ray SDK makes a client of its own, for the sampling rules, when it is imported; it sends nothing.
NO_CLIENT = """
from botocore.session import Session
make = Session.create_client

def refuse(session, service, *arguments, **options):
    if service != "xray":
        raise SystemExit(f"a client of {service} is made at import")
    return make(session, service, *arguments, **options)

Session.create_client = refuse
"""
DEPLOYED_FILES = [
    ROOT / "template.yaml",
    *sorted((ROOT / "statemachine").glob("*.json")),
    *(path for package in DEPLOYED for path in sources(package)),
]

every_package = pytest.mark.parametrize("package", DEPLOYED)


def imports(package: str) -> set[str]:
    return set().union(*map(imported_packages, sources(package)))


def import_everything(*, before: str = "") -> subprocess.CompletedProcess[str]:
    """Import all deployed modules in a new interpreter with an empty environment, after some other code."""
    names = ", ".join(module for package in DEPLOYED for module in modules(package))
    paths = [str(FUNCTIONS), str(IDEMPOTENCY)]
    script = f"import sys\nsys.path[:0] = {paths}\n{before}\nimport {names}\nprint('imported')"
    return subprocess.run([sys.executable, "-c", script], env={}, capture_output=True, text=True, check=False)


def test_every_package_has_its_arrows() -> None:
    assert set(ARROWS) == set(DEPLOYED)


@every_package
def test_imports_run_one_way(package: str) -> None:
    assert imports(package) & PROJECT <= ARROWS[package]


@every_package
def test_nothing_is_imported_that_is_not_deployed(package: str) -> None:
    known = PROJECT | THIRD_PARTY | sys.stdlib_module_names

    assert imports(package) <= known


def test_the_idempotency_layer_needs_nothing_but_python() -> None:
    assert imports("idempotency") <= {"idempotency"} | sys.stdlib_module_names


@pytest.mark.parametrize("path", DEPLOYED_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_deployed_code_does_not_know_of_the_laptop(path: Path) -> None:
    text = path.read_text().lower()

    assert [word for word in FORBIDDEN_WORDS if word in text] == []


def test_importing_needs_no_environment_and_makes_no_client() -> None:
    run = import_everything(before=NO_CLIENT)

    assert (run.returncode, run.stdout, run.stderr) == (0, "imported\n", "")
