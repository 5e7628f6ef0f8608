"""The layer as other projects install it: the wheel in an empty environment runs the documents' Python."""

import json
import re
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import pytest

from stepwise.local.emulator import emulator
from tests.kit.wheels import UV, build, install, run

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

pytestmark = pytest.mark.slow

ROOT = emulator.ROOT
KIT = ROOT / "layers" / "idempotency"
MODULES = {path.relative_to(KIT).as_posix() for path in (KIT / "idempotency").rglob("*.py")}
BLOCK = re.compile(r"^```(python|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A call of the README's function, and a duplicate.
CALLS = """
class Context:
    def get_remaining_time_in_millis(self):
        return 30_000

for _ in range(2):
    print(handler({"booking_id": "b-1", "seat": "14C"}, Context()))  # {'booked': '14C'}
"""
PRINTED = re.compile(r"print\(.*\)  # (.*)")


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text()
    return [code for found, code in BLOCK.findall(text) if found == language]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(KIT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and the oldest supported botocore."""
    return install(wheel, tmp_path_factory.mktemp("environment") / "venv", "--resolution", "lowest-direct")


@pytest.fixture(scope="module")
def with_boto3(python: Path) -> Path:
    run(UV, "pip", "install", "--quiet", "--python", python, "boto3")
    return python


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with emulator.attached() as started:
        yield started.endpoint


def test_wheel_has_the_modules_their_types_and_the_license(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        files = {name for name in opened.namelist() if ".dist-info/" not in name}
        (license_text,) = [opened.read(name) for name in opened.namelist() if name.endswith("/LICENSE")]
    assert files == MODULES | {"idempotency/py.typed"}
    assert license_text == (ROOT / "LICENSE").read_bytes()


def test_wheel_needs_only_botocore_and_imports_none_of_it(python: Path) -> None:
    listed = json.loads(run(UV, "pip", "list", "--quiet", "--format", "json", "--python", python))
    ours, of_botocore = {"stepwise-idempotency", "botocore"}, {"jmespath", "python-dateutil", "six", "urllib3"}
    assert {package["name"] for package in listed} == ours | of_botocore
    script = "import idempotency, sys; print(idempotency.__file__, 'botocore' in sys.modules)"
    file, imported = run(python, "-I", "-c", script).split()
    assert (Path(file).is_relative_to(python.parents[1]), imported) == (True, "False")


@pytest.mark.parametrize("document", ["README.md", "docs/idempotency.md", "docs/steps.md", "docs/leases.md"])
def test_python_examples_of_the_docs_run_on_the_documented_tables(
    document: str, with_boto3: Path, endpoint: str, tmp_path: Path
) -> None:
    account = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}
    stacks: CloudFormationClient = boto3.client("cloudformation", endpoint_url=endpoint, **account)
    (template,) = blocks("docs/idempotency.md", "yaml")
    name = Path(document).stem
    stacks.create_stack(StackName=name, TemplateBody=template)
    stacks.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig={"Delay": 1})
    outputs = {
        one["OutputKey"]: one["OutputValue"] for one in stacks.describe_stacks(StackName=name)["Stacks"][0]["Outputs"]
    }
    code = "\n".join([*blocks(document, "python"), *([CALLS] if document == "README.md" else [])])
    script = tmp_path / "document.py"
    script.write_text(code)

    printed = run(
        with_boto3,
        "-I",
        script,
        AWS_ENDPOINT_URL=endpoint,
        AWS_DEFAULT_REGION="us-east-1",
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test",
        IDEMPOTENCY_TABLE=outputs["IdempotencyTable"],
        SEATS_TABLE=outputs["SeatsTable"],
    )

    assert set(printed.splitlines()) == set(PRINTED.findall(code))


def test_lambda_layer_ships_the_modules_and_their_bytecode(tmp_path: Path) -> None:
    subprocess.run(
        ["make", "--quiet", "build-IdempotencyLayer", f"ARTIFACTS_DIR={tmp_path}"],
        cwd=KIT,
        check=True,
        capture_output=True,
    )
    files = {str(path.relative_to(tmp_path / "python")) for path in tmp_path.rglob("*") if path.is_file()}
    assert {file for file in files if not file.endswith(".pyc")} == MODULES
    assert len(files) == 2 * len(MODULES)
