"""JSON that a person passes as a file or on standard input."""

import json
import sys
from pathlib import Path
from typing import Any

import typer


def read_json(file: Path, hint: str) -> Any:
    """The document in a file, or of standard input for -. hint: the option or argument that an error names."""
    try:
        return json.loads(sys.stdin.read() if str(file) == "-" else file.read_text())
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{file}: {error}", param_hint=hint) from None
    except RecursionError:
        raise typer.BadParameter(f"{file}: nested too deeply", param_hint=hint) from None
