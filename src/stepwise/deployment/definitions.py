"""Formats the definitions of state machines: `python -m stepwise.deployment.definitions [--check]`.

Indentation is two spaces. A state has one line per field. The value of a field has one line if it fits, and so does
each retrier, catcher and choice. Retriers, catchers and lists of names that do not fit are wrapped.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
FOLDERS = "statemachine", "examples/*/statemachine"
_WIDTH = 140
_INDENT = "  "


def main(*arguments: str) -> int:
    """Format all definitions; with --check, only name the unformatted ones."""
    texts = {path: path.read_text() for folder in FOLDERS for path in sorted(ROOT.glob(f"{folder}/*.asl.json"))}
    changed = {path: text for path, before in texts.items() if (text := formatted(before)) != before}
    for path, text in changed.items():
        if "--check" in arguments:
            sys.stderr.write(f"{path.name} is not formatted: run 'make asl'\n")
        else:
            path.write_text(text)
    return 1 if changed and "--check" in arguments else 0


def formatted(text: str) -> str:
    """Format a definition; its data and their order stay."""
    return "\n".join(_lines("", json.loads(text), "")) + "\n"


def _lines(key: str, value: Any, indent: str, comma: str = "") -> Iterator[str]:
    """Yield the lines of a value. key: with its colon, or empty for an element of a list and for the whole."""
    pieces = _pieces(value)
    line = f"{indent}{key}{' '.join(pieces)}{comma}"
    if len(pieces) == 1 or (_is_simple(value) and len(line) <= _WIDTH):
        yield line
    elif _is_wrapped(value):
        yield from _wrapped([key + pieces[0], *pieces[1:-1], pieces[-1] + comma], indent)
    else:
        begin, end = _brackets(value)
        *parts, (last_name, last) = _parts(value)
        yield f"{indent}{key}{begin}"
        for name, part in parts:
            yield from _lines(name, part, indent + _INDENT, ",")
        yield from _lines(last_name, last, indent + _INDENT)
        yield f"{indent}{end}{comma}"


def _pieces(value: Any) -> list[str]:
    """Split the text of a value into pieces between which a line may break."""
    if not isinstance(value, dict | list) or not value:
        return [_text(value)]
    begin, end = _brackets(value)
    pieces: list[str] = []
    for name, part in _parts(value):
        first, *others = _pieces(part)
        pieces += [name + first, *others]
        pieces[-1] += ","
    pieces[0] = begin + pieces[0]
    pieces[-1] = pieces[-1].removesuffix(",") + end
    return pieces


def _brackets(value: Any) -> tuple[str, str]:
    return ("{", "}") if isinstance(value, dict) else ("[", "]")


def _parts(value: Any) -> list[tuple[str, Any]]:
    """Return the values in an object or a list, each after its key and a colon, or after nothing."""
    if isinstance(value, dict):
        return [(f"{_text(name)}: ", part) for name, part in value.items()]
    return [("", part) for part in value]


def _wrapped(pieces: list[str], indent: str) -> Iterator[str]:
    line = indent + pieces[0]
    for piece in pieces[1:]:
        if len(line) + 1 + len(piece) > _WIDTH:
            yield line
            line = indent + _INDENT + piece
        else:
            line += f" {piece}"
    yield line


def _is_simple(value: Any) -> bool:
    """True if a value may have one line: it has no state, no machine, and no list of several objects."""
    match value:
        case dict():
            return value.keys().isdisjoint({"Type", "States"}) and all(map(_is_simple, value.values()))
        case [dict(), _, *_]:
            return False
        case list():
            return all(map(_is_simple, value))
    return True


def _is_wrapped(value: Any) -> bool:
    """True if a value is a retrier, a catcher, or a list without objects and lists."""
    if isinstance(value, dict):
        return "ErrorEquals" in value
    return not any(isinstance(one, dict | list) for one in value)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
