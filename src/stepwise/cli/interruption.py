"""Ctrl-C while a command follows what goes on without it."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from . import views


@contextmanager
def interrupted(message: str) -> Iterator[None]:
    """Ctrl-C prints how to come back, and ends with 130."""
    try:
        yield
    except KeyboardInterrupt:
        views.console(stderr=True).print(f"\n{message}")
        raise typer.Exit(130) from None
