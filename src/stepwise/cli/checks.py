"""Checks of options and arguments before anything is called, and JSON that a person passes."""

import os
import sys
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from runtime import text as readable
from runtime.encodings import CP932, UTF_8
from runtime.json_documents import parse_json
from stepwise.operations import work

_MAX_REASON, _MAX_ID = 1000, 1000

EncodingConfirmed = Annotated[
    bool, typer.Option("--encoding-confirmed", help="The encoding is right, whatever the file looks like.")
]


class Encoding(StrEnum):
    """Encoding of a CSV file."""

    utf_8 = UTF_8
    cp932 = CP932


def reason(text: str) -> str:
    """Check a reason: it is kept for years, so it must say something."""
    if problem := readable.problem(text, lines=True):
        raise typer.BadParameter(f"say why; it is kept on the record. This {readable.SENTENCES[problem]}")
    if len(text) > _MAX_REASON:
        raise typer.BadParameter(f"at most {_MAX_REASON} characters")
    return text.strip()


def line(text: str) -> str:
    """Check a one-line text that people read, such as a name."""
    if problem := readable.problem(text):
        raise typer.BadParameter(readable.SENTENCES[problem])
    if len(text) > _MAX_REASON:
        raise typer.BadParameter(f"at most {_MAX_REASON} characters")
    return text


def business_id(text: str) -> str:
    """Check an id that can be part of a table's key, which has up to 2,048 bytes."""
    if not text.strip() or not text.isprintable() or len(text.encode()) > _MAX_ID:
        raise typer.BadParameter(f"1 to {_MAX_ID} bytes of printable characters")
    return text


def final_error(text: str | None) -> str | None:
    """Check the class name and the sentence of an error that duplicates get."""
    try:
        return None if text is None else ":".join(work.parse_error(text))
    except work.InvalidOutcome as error:
        raise typer.BadParameter(str(error)) from None


def day(text: str) -> str:
    """Check a day; None for none."""
    try:
        return text and date.fromisoformat(text).isoformat()
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not YYYY-MM-DD") from None


def new_file(path: Path | None) -> Path | None:
    """Check a file that will be written when the work is done: its folder must exist now, and be writable."""
    if path is None:
        return None
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder")
    if not path.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise typer.BadParameter(f"{path} cannot be written")
    return path


def read_json(file: Path, hint: str) -> Any:
    """Read the document in a file, or of standard input for -. hint: the option or argument that an error names."""
    try:
        return parse_json(sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes())
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{file}: {error}", param_hint=hint) from None
