"""JSON that a person passes as a file or on standard input."""

import sys
from pathlib import Path
from typing import Any

import typer

from runtime.json_documents import parse_json


def read_json(file: Path, hint: str) -> Any:
    """The document in a file, or of standard input for -. hint: the option or argument that an error names."""
    try:
        return parse_json(sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes())
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{file}: {error}", param_hint=hint) from None
