"""JSON text from outside: request bodies, queue messages, files, and events that contain JSON as a string.

Python's reader takes the last of two members with one name, guesses the encoding, and rounds numbers to a float.
`parse_json` refuses the first two, and keeps every digit: a number is an int, or a Decimal if it has a fraction or an
exponent. Events that Lambda or Step Functions have already parsed hide repeated members and lost digits; `event_text`
is how our own code passes exact numbers to a function.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any

from idempotency.payloads import MAX_DIGITS, is_float, json_text

MAX_DEPTH = 64
_MAX_FLAWS = 20
_MAX_NAME_SHOWN = 64
_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
_OUT_OF_RANGE = f"OutOfRange: a number of more than {MAX_DIGITS:,} digits, or with an exponent that is too large"
_REPEATED = "repeated; a name may occur once in an object"
_REPLACED = b"\xef\xbf\xbd"
# A gateway that decodes the bytes as UTF-8 replaces the second one.
_GZIP = (b"\x1f\x8b", b"\x1f\xc2\x8b", b"\x1f" + _REPLACED)
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Flaw:
    """A defect of a document.

    path: names and indexes that lead to the value; empty for the whole document. problem: never contains a value.
    """

    path: tuple[str | int, ...]
    problem: str

    def __str__(self) -> str:
        """Join the path with dots, as the errors of all contexts do."""
        parts = (f"[{one}]" if isinstance(one, int) else f".{_shown(one)}" for one in self.path)
        path = "".join(parts).removeprefix(".")
        return f"{path}: {self.problem}" if path else self.problem

    @property
    def pointer(self) -> str:
        """Convert the path to a JSON pointer."""
        return "".join(f"/{_shown(str(one)).replace('~', '~0').replace('/', '~1')}" for one in self.path)


class NotJson(ValueError):
    """The text is not exactly one JSON document, or is ambiguous. The message names the first flaw."""

    def __init__(self, *flaws: Flaw) -> None:
        super().__init__(str(flaws[0]))
        self.flaws = flaws


class _Refused(str):
    """A placeholder for a refused value: the text is the reason."""


def parse_json(content: bytes | str) -> Any:
    """Parse a JSON text. Raises NotJson. A byte order mark, which editors on Windows write, is ignored."""
    text = (content if isinstance(content, str) else _decoded(content)).removeprefix("\ufeff")
    if not text.strip():
        raise _whole("empty; send a JSON document")
    reader = _Reader()
    value = reader.read(text)
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deep(value):
        raise _whole(_TOO_DEEP)
    # Only an escape can produce a lone surrogate.
    if reader.refused or "\\u" in text:
        flaws = list(islice(_flaws(value, ()), _MAX_FLAWS))
        if flaws:
            raise NotJson(*flaws)
    return value


class _Reader:
    """Reads one document. refused: the placeholders of refused values."""

    def __init__(self) -> None:
        self.refused: list[_Refused] = []

    def read(self, text: str) -> Any:
        decoder = json.JSONDecoder(
            object_pairs_hook=self._members,
            parse_float=self._fraction,
            parse_int=self._whole,
            parse_constant=lambda name: self._refuse(f"{name} is not JSON"),
        )
        try:
            return decoder.decode(text)
        except json.JSONDecodeError as error:
            raise _whole(_explained(error, text)) from None
        except RecursionError:
            raise _whole(_TOO_DEEP) from None

    def _refuse(self, problem: str) -> _Refused:
        self.refused.append(_Refused(problem))
        return self.refused[-1]

    def _members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            found |= {name: self._refuse(_REPEATED) for name, count in counts.items() if count > 1}
        return found

    def _fraction(self, digits: str) -> Any:
        try:
            return Decimal(digits) if len(digits) <= MAX_DIGITS else self._refuse(_OUT_OF_RANGE)
        except InvalidOperation:
            return self._refuse(_OUT_OF_RANGE)

    def _whole(self, digits: str) -> Any:
        return int(digits) if len(digits) <= MAX_DIGITS else self._refuse(_OUT_OF_RANGE)


def read_document(document: Any, refusal: type[Exception], whole: str) -> Any:
    """Read the document of an event: the event itself, or the JSON that it contains as a string.

    refusal: raised for a text that is not JSON. whole: what to call the document.
    """
    if not isinstance(document, str):
        return document
    try:
        return parse_json(document)
    except NotJson as error:
        flaw = error.flaws[0]
        raise refusal(str(flaw) if flaw.path else f"{whole}: {flaw}") from None


def event_text(document: Any) -> str:
    """Build a Lambda invocation's payload: the document, or its JSON as a string if Lambda would round a number."""
    text = json_text(document)
    return text if all(map(is_float, _decimals(document))) else json.dumps(text)


def _decimals(value: Any) -> Iterator[Decimal]:
    if isinstance(value, Decimal):
        yield value
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _decimals(inner)


def _decoded(content: bytes) -> str:
    if content.startswith(_GZIP):
        raise _whole("compressed by gzip; send it without compression")
    if content.startswith(_UTF_16) or b"\0" in content[:4] or (content[:6] == _REPLACED * 2 and b"\0" in content):
        encoding = "UTF-32" if json.detect_encoding(content).startswith("utf-32") else "UTF-16"
        raise _whole(f"in {encoding}; JSON is UTF-8, so save or send it as UTF-8")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise _whole(f"not UTF-8 at byte {error.start + 1}; JSON is UTF-8, so save or send it as UTF-8") from None


def _explained(error: json.JSONDecodeError, text: str) -> str:
    place = f"line {error.lineno}, column {error.colno}"
    if error.msg != "Extra data":
        words = error.msg.removesuffix(": ").removesuffix(" at").removesuffix(" starting")
        return f"not JSON at {place}: {words[:1].lower()}{words[1:]}"
    try:
        begins = text[error.pos - 1].isspace() or text[error.pos] in '{["'
        begins = begins and bool(json.JSONDecoder().raw_decode(text, error.pos))
    except (ValueError, RecursionError):
        begins = False
    if begins:
        return f"more than one JSON document; the second one begins at {place}; send each on its own"
    return f"not JSON: more text after the document, at {place}"


def _flaws(value: Any, path: tuple[str | int, ...]) -> Iterator[Flaw]:
    if isinstance(value, _Refused):
        yield Flaw(path, str(value))
    elif isinstance(value, str):
        if not _is_text(value):
            yield Flaw(path, "half of a character (a lone surrogate)")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _flaws(inner, (*path, index))
    elif isinstance(value, dict):
        for name, inner in value.items():
            if not _is_text(name):
                yield Flaw(path, "half of a character (a lone surrogate) in the name of a field")
            else:
                yield from _flaws(inner, (*path, name))


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_deep(value: Any) -> bool:
    level: Sequence[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [one for one in level if isinstance(one, dict | list)]
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return any(isinstance(one, dict | list) for one in level)


def _shown(name: str) -> str:
    return name[:_MAX_NAME_SHOWN]


def _whole(problem: str) -> NotJson:
    return NotJson(Flaw((), problem))
