"""Handlers run with our layers and the oldest packages known in Lambda's runtime.

AWS updates boto3, botocore and urllib3 there without notice, while our service models come from a pinned botocore.
"""

import json
import shutil
import subprocess
from pathlib import Path

import botocore

from service_models import OPERATIONS, write
from stepwise.deployment.application import flat
from stepwise.deployment.templates import FUNCTION, of_type
from tests.kit.project import DEPLOYED, FUNCTIONS, IDEMPOTENCY, ROOT, modules

PROGRAM = Path(__file__).with_name("lambda_runtime.py")
PYTHON = ROOT / ".venv-runtime" / "bin" / "python"


def test_handlers_import_and_sign_every_call_in_the_oldest_runtime(tmp_path: Path) -> None:
    code = shutil.copytree(FUNCTIONS, tmp_path / "code", ignore=shutil.ignore_patterns("__pycache__"))
    write(Path(botocore.__file__).parent / "data", code / "runtime" / "service_models")
    targets = [body["Handler"] for body in of_type(flat(ROOT / "template.yaml"), FUNCTION).values()]
    work = tmp_path / "work.json"
    # Handlers import many of these at their first call.
    deployed = [name for package in DEPLOYED for name in modules(package)]
    work.write_text(json.dumps({"modules": deployed, "targets": targets, "operations": OPERATIONS}))

    run = subprocess.run(
        [PYTHON, "-P", PROGRAM, work],
        env={"PYTHONPATH": f"{code}:{IDEMPOTENCY}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads(run.stdout) == {service: list(operations) for service, operations in OPERATIONS.items()}
