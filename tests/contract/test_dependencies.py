"""The import arrows, and imports without side effects."""

import re
import subprocess
import sys
from pathlib import Path

from tests.kit.each import each
from tests.kit.project import (
    CONTEXTS,
    DEPLOYED,
    FUNCTIONS,
    IDEMPOTENCY,
    PATH,
    ROOT,
    imported_packages,
    modules,
    packages,
    sources,
)
from tests.kit.project import (
    TOOLS as TOOLS_FOLDER,
)

# A context may import itself and the shared packages, never another context.
ARROWS = {
    **{context: {context, "entities", "runtime", "idempotency"} for context in CONTEXTS},
    # It has no domain code: it reads the contexts' tables, and calls their functions.
    "api": {*CONTEXTS, "entities", "runtime", "idempotency"},
    "entities": {"entities", "runtime", "idempotency"},
    "runtime": {"runtime", "idempotency"},
    "idempotency": {"idempotency"},
}
PROJECT = {*DEPLOYED, *packages(TOOLS_FOLDER), "tests", "benchmarks"}
# Packages that are not deployed, from the top down.
TOOLS = {
    "cli": {"cli", "console", "deployment", "local", "operations", *DEPLOYED},
    "console": {"console", "operations", *DEPLOYED},
    "operations": {"operations", *DEPLOYED},
    "deployment": {"deployment", "local"},
    "local": {"local", "runtime"},
}
SUITES = sorted(path.parent for path in (ROOT / "tests").glob("*/__init__.py"))
OF_SUITE = r"^\s*(?:from|import) tests\.(\w+)"
THIRD_PARTY = {
    "boto3",
    "botocore",
    "mypy_boto3_connect",
    "mypy_boto3_dynamodb",
    "mypy_boto3_s3",
    "mypy_boto3_sns",
    "mypy_boto3_stepfunctions",
    "msgspec",
    "aws_xray_sdk",
    "certifi",
    "h11",
}
# Deployed code has no knowledge of running elsewhere or under test.
FORBIDDEN_WORDS = ("localhost", "127.0.0.1", "ministack", "is_local", "test_mode")
NO_CLIENT = """
from botocore.session import Session

def refuse(session, service, *arguments, **options):
    raise SystemExit(f"a client of {service} is made at import")

Session.create_client = refuse
"""
# The X-Ray SDK detects Lambda by this. Elsewhere its import creates a client for the sampling rules, which takes longer
# than a whole cold start.
LAMBDA = {"LAMBDA_TASK_ROOT": "/var/task"}
# Modules that libraries could load but nothing here uses, each a tenth of a cold start or more.
HEAVY = ["boto3", "requests", "asyncio", "multiprocessing", "aws_xray_sdk.core.sampling.connector"]
DEPLOYED_FILES = [
    ROOT / "template.yaml",
    *sorted((ROOT / "stacks").glob("*.yaml")),
    *sorted((ROOT / "statemachine").glob("*.json")),
    *(path for package in DEPLOYED for path in sources(package)),
]

every_package = each("package", DEPLOYED)


def imports(package: str) -> set[str]:
    return set().union(*map(imported_packages, sources(package)))


def import_in_lambda(names: list[str], *, before: str = "", after: str = "") -> subprocess.CompletedProcess[str]:
    """Import modules in a new interpreter with Lambda's environment, with some code before and after."""
    paths = [str(FUNCTIONS), str(IDEMPOTENCY)]
    script = f"import sys\nsys.path[:0] = {paths}\n{before}\nimport {', '.join(names)}\n{after}\nprint('imported')"
    return subprocess.run([sys.executable, "-c", script], env=LAMBDA, capture_output=True, text=True, check=False)


def test_every_package_has_import_rules() -> None:
    assert set(ARROWS) == set(DEPLOYED)


@every_package
def test_imports_run_one_way(package: str) -> None:
    assert imports(package) & PROJECT <= ARROWS[package]


@each("folder", TOOLS)
def test_tools_import_one_way(folder: str) -> None:
    found = set().union(*map(imported_packages, (TOOLS_FOLDER / folder).rglob("*.py")))

    assert found & PROJECT <= TOOLS[folder]


@each("suite", SUITES, ids=lambda suite: suite.name)
def test_no_suite_imports_another(suite: Path) -> None:
    # Parsing every test would take a second.
    named = {name for path in suite.rglob("*.py") for name in re.findall(OF_SUITE, path.read_text(), re.MULTILINE)}

    assert named <= {suite.name, "kit"}


@every_package
def test_deployed_code_imports_only_deployed_code(package: str) -> None:
    known = PROJECT | THIRD_PARTY | sys.stdlib_module_names

    assert imports(package) <= known


def test_idempotency_layer_needs_only_python() -> None:
    assert imports("idempotency") <= {"idempotency"} | sys.stdlib_module_names


@each("path", DEPLOYED_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_deployed_code_knows_nothing_about_local_runs(path: Path) -> None:
    text = path.read_text().lower()

    assert [word for word in FORBIDDEN_WORDS if word in text] == []


def test_import_reads_no_environment_and_creates_no_client() -> None:
    everything = [module for package in DEPLOYED for module in modules(package)]
    run = import_in_lambda(everything, before=NO_CLIENT)

    assert (run.returncode, run.stdout, run.stderr) == (0, "imported\n", "")


def test_clients_skip_slow_cold_start_work() -> None:
    ready = (
        "from runtime.dynamodb import dynamodb\nimport os\nos.environ['AWS_DEFAULT_REGION'] = 'us-east-1'\ndynamodb()"
    )
    run = import_in_lambda(
        ["ordering.handlers"], after=f"{ready}\nprint([name for name in {HEAVY} if name in sys.modules])"
    )

    assert (run.returncode, run.stdout, run.stderr) == (0, "[]\nimported\n", "")


def test_command_line_starts_without_x_ray() -> None:
    """Importing it outside Lambda takes a third of the startup time."""
    paths = [*map(str, PATH)]
    script = f"import sys\nsys.path[:0] = {paths}\nimport stepwise.cli.app\nprint('aws_xray_sdk' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (run.returncode, run.stdout, run.stderr) == (0, "False\n", "")
