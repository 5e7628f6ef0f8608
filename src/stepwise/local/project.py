"""The project that the tools work on: a folder with a SAM template."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "STEPWISE_PROJECT"
"""The environment variable that names the project's folder; the option --project sets it."""
SOURCES = Path(__file__).resolve().parents[2]
"""The folder that the package is imported from: `src` of a checkout, or the site-packages of an environment."""
_MARKS = ("template.yaml", "template.yml", "samconfig.toml")
_APPLICATION = (Path("functions"), Path("layers", "idempotency"))


class ApplicationMissing(Exception):
    """A command of the Stepwise application was called in a project without its code. The message says what to do."""


def _found() -> Path:
    if named := os.environ.get(VARIABLE):
        return Path(named).resolve()
    checkout = SOURCES.parent
    if SOURCES.name == "src" and (checkout / _MARKS[0]).is_file():
        return checkout
    return next((folder for folder in _upwards() if any((folder / mark).is_file() for mark in _MARKS)), Path.cwd())


def _upwards() -> Iterator[Path]:
    here = Path.cwd()
    return iter((here, *here.parents))


ROOT = _found()
"""The project's folder: the named one, else the checkout's, else the nearest with a template at or above this one."""


def has_application() -> bool:
    """True if the project is the Stepwise application, whose commands import its deployed code."""
    return all((ROOT / folder).is_dir() for folder in (*_APPLICATION, Path("functions", "ordering")))


def import_application() -> None:
    """Make the application's deployed code importable. Raises ApplicationMissing."""
    if not has_application():
        raise ApplicationMissing(
            f"this command belongs to the Stepwise application, and {ROOT} has none: run it in a checkout, "
            f"or name one with --project"
        )
    sys.path += [path for folder in _APPLICATION if (path := str(ROOT / folder)) not in sys.path]
