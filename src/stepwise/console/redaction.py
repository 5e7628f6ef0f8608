"""Redacts documents before they are shown: no secrets, no personal data.

Inputs, outputs and history events of executions hold payment tokens, callback tokens and, if a person wrote them by
hand, anything. Every document passes `redacted`, and every text `redacted_text`, before it is on a page.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from idempotency.payloads import json_text, read_json

HIDDEN = "•••"
_SECRET = re.compile(
    r"token|password|passwd|secret|credential|authorization|api_?key|private_?key|signature|cvc|cvv|(^|_)pan$|card_?number|iban",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"^(?:(?:first|last|full|given|family|sur|user|maiden|display|customer|applicant)_?name|name|e?_?mail(?:_address)?"
    r"|phone(?:_number)?|mobile|date_of_birth|birth_?date|dob|line[12]|street|postal_code|address)$",
    re.IGNORECASE,
)
# A card's token or a callback token, anywhere in a text: tok_..., or a long run of base64.
_TOKEN = re.compile(r"\btok_\w+|(?<![\w+/=-])[A-Za-z0-9+/_-]{200,}={0,2}")
# Secrets in a text that is not a document, such as a message that quotes one.
_QUOTED = re.compile(
    r"""(['"]?\b\w*(?:token|password|passwd|secret|credential|api_key)\w*['"]?\s*[:=]\s*)("[^"]*"|'[^']*'|[^\s,;}\]]+)""",
    re.IGNORECASE,
)
_DEEPEST = 40


def redacted(value: Any, depth: int = 0) -> Any:
    """Replace each secret and each piece of personal data in a plain document by `•••`, including JSON within texts."""
    if depth > _DEEPEST:
        return HIDDEN
    if isinstance(value, Mapping):
        return {name: HIDDEN if _hides(name, one) else redacted(one, depth + 1) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(one, depth + 1) for one in value]
    return redacted_text(value, depth) if isinstance(value, str) else value


def redacted_text(text: str, depth: int = 0) -> str:
    """Redact a text, such as an error's message; a JSON text as a document."""
    found = _parsed(text)
    if found is not None:
        return json_text(redacted(found, depth + 1), ensure_ascii=False)
    return _TOKEN.sub(HIDDEN, _QUOTED.sub(rf"\g<1>{HIDDEN}", text))


def shown(text: str | None) -> str:
    """Format the input or output of an execution as indented JSON. Text that is not JSON is returned unchanged."""
    if not text:
        return ""
    found = _parsed(text)
    return redacted_text(text) if found is None else json_text(redacted(found), ensure_ascii=False, indent=2)


def _hides(name: object, value: Any) -> bool:
    """True if a field of this name must be hidden. Numbers, flags and null may be shown."""
    if value is None or isinstance(value, bool | int | float | Decimal):
        return False
    text = str(name)
    return bool(_SECRET.search(text) or _PERSON.match(text))


def _parsed(text: str) -> Any:
    """Parse a JSON object or array; None for any other text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return read_json(text)
    except ValueError:
        return None
