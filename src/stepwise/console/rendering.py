"""HTML from templates. Every value is escaped."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from idempotency.payloads import json_text
from stepwise.operations.values import read_time

from .redaction import redacted_text

LIVE = "live_"
STATIC = Path(__file__).with_name("static")
_TEMPLATES = Path(__file__).with_name("templates")
_LONG = timedelta(minutes=1)


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(moment=moment, duration=duration, path=quote_path, document=document, hide=redacted_text)
    made.globals["link"] = link
    made.globals["ui"] = made.get_template("ui.html").module
    return made


def page(template: str, context: Mapping[str, Any]) -> str:
    """Render a whole page."""
    return environment().get_template(template).render(context)


def live_parts(template: str, context: Mapping[str, Any]) -> dict[str, str]:
    """Render the live blocks of a page, by name."""
    found = environment().get_template(template)
    return {name: "".join(block(found.new_context(dict(context)))) for name, block in _live_blocks(found.blocks)}


def _live_blocks(blocks: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((name, block) for name, block in blocks.items() if name.startswith(LIVE))


def link(path: str, **query: object) -> str:
    """Build an address of the console, without empty parameters."""
    wanted = {name: str(value) for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(wanted)}" if wanted else path


def quote_path(text: object) -> str:
    """Quote one segment of a path."""
    return quote(str(text), safe="")


def moment(at: datetime | str | None) -> str:
    """Format a time in UTC, to the second. Text that is not a time is returned unchanged."""
    found = read_time(at)
    return found.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S") if isinstance(found, datetime) else found or ""


def duration(span: timedelta | None) -> str:
    """Format a duration: `85 ms`, `3.2 s`, `4 min 5 s`, `2 h 3 min`, `3 d 4 h`."""
    if span is None:
        return ""
    seconds = span.total_seconds()
    if span < timedelta(seconds=1):
        return f"{round(seconds * 1000)} ms"
    if span < _LONG:
        return f"{seconds:.1f} s"
    return " ".join(f"{count} {unit}" for count, unit in _units(int(seconds)) if count)


def _units(seconds: int) -> list[tuple[int, str]]:
    """Split a duration into its two largest units."""
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    parts = [(days, "d"), (hours % 24, "h"), (minutes % 60, "min"), (seconds % 60, "s")]
    first = next(number for number, (count, _) in enumerate(parts) if count)
    return parts[first : first + 2]


def document(value: object) -> str:
    """Format a plain value as indented JSON."""
    return json_text(value, ensure_ascii=False, indent=2, default=str)
