"""Package folders as on Lambda: the runtime's own, our layers, and Powertools as a layer."""

import compileall
import io
import shutil
import zipfile
from importlib.metadata import distributions
from pathlib import Path
from py_compile import PycInvalidationMode

from stepwise.local.emulator.emulator import ROOT, STATE

ENVIRONMENT = ROOT / ".venv-bench"
_STAGE = STATE / "bench"
# Lambda's Python runtime has these, so they are not deployed.
_RUNTIME = frozenset({"boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3"})
_BYTECODE = "__pycache__"


def runtime() -> Path:
    """Lambda's own packages, compiled."""
    return _compiled(_installed("runtime", _RUNTIME))


def powertools() -> Path:
    """Powertools with its dependencies, compiled, as `pip install --target` installs them."""
    return _compiled(_installed("powertools", _pinned() - _RUNTIME))


def without_bytecode(folder: Path) -> Path:
    """Copy the folder without bytecode, as if unpacked from an archive of sources."""
    target = _STAGE / f"{folder.parent.name}-{folder.name}-sources"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns(_BYTECODE))
    return target


def size(folder: Path) -> tuple[int, int]:
    """Bytes of the files, and of their archive."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for path in files:
            opened.write(path, path.relative_to(folder))
    return sum(path.stat().st_size for path in files), len(archive.getvalue())


def _pinned() -> set[str]:
    lines = (ROOT / "requirements" / "bench.txt").read_text().splitlines()
    return {line.partition("==")[0] for line in lines if "==" in line}


def _installed(name: str, wanted: set[str] | frozenset[str]) -> Path:
    target = _STAGE / name
    shutil.rmtree(target, ignore_errors=True)
    (site,) = ENVIRONMENT.glob("lib/python*/site-packages")
    found = [package for package in distributions(path=[str(site)]) if package.name.replace("_", "-") in wanted]
    if len(found) != len(wanted):
        raise RuntimeError(f"{ENVIRONMENT.name} has {len(found)} of {sorted(wanted)}")
    for file in (file for package in found for file in package.files or []):
        if ".." not in file.parts and _BYTECODE not in file.parts:
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(site / file, target / file)
    return target


def _compiled(folder: Path) -> Path:
    compileall.compile_dir(folder, quiet=1, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
    return folder
