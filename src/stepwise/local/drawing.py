"""Rich's tables, texts and progress bars, printed through stepwise.local.terminal.

No other module draws with Rich's own Console or Text.
"""

import sys
from collections.abc import Iterable
from typing import Any

import rich.text
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from .terminal import door, readable


class Text(rich.text.Text):
    """A text in which every character is visible. Rich drops some control characters, and passes on the others."""

    def __init__(self, text: str = "", *arguments: Any, **options: Any) -> None:
        super().__init__(readable(text), *arguments, **options)

    def append(self, text: "rich.text.Text | str", style: Any = None) -> "Text":
        super().append(readable(text) if isinstance(text, str) else text, style)
        return self


class Screen(Console):
    """A console that shows data unchanged: brackets are no markup, `:tea:` is no emoji, and no word is cut."""

    def __init__(self, *, stderr: bool = False, quiet: bool = False) -> None:
        stream = door(sys.stderr if stderr else sys.stdout).styled
        super().__init__(file=stream, quiet=quiet, markup=False, emoji=False, highlight=False, soft_wrap=True)

    def render_str(self, text: str, **options: Any) -> rich.text.Text:
        return super().render_str(readable(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            # Rich itself creates the terminal's control sequences.
            yield segment if segment.control else Segment(readable(segment.text), segment.style)
