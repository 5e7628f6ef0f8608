"""Tracked text uses the field's words: timeout, simulator, invariant, finalization, backoff, inject."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.kit.project import ROOT, relative_name

# Replacements by banned word.
INSTEAD = {
    r"(?i:time-outs?)": "timeout",
    r"(?i:stand-ins?)": "simulator",
    r"(?i:laws?)": "invariant",
    r"(?i:settle(?:ments?|s|d)?|settling)": "finalization, finalize",
    r"(?i:patience)": "backoff",
    r"(?i:twins?)": "concurrent duplicate",
    r"(?i:vanish(?:es|ed)?)": "crashed owner, lost",
    r"(?i:strikes?|struck|striking)": "inject",
    r"(?:MOST|LONGEST|LEAST)_\w+": "MAX_, MIN_",
    r"(?i:on duty)": "on call",
    r"(?i:whoever)": "who, or the role",
    r"(?i:anew)": "again",
    r"(?i:for ever)": "forever",
    r"(?i:nobody's wish)": "what fails fast",
    r"(?i:whatever becomes of)": "even if one fails",
    r"(?i:what (?:he|she|it|they) (?:has|have) not)": "what is missing",
    r"(?i:longest|least)_\w+": "max_, min_",
    r"(?i:a invariant)": "an invariant",
    r"(?i:(?:broken?|breaks?) off)": "interrupted",
    r"(?i:leases? (?:(?:that )?ha[sd] |have )?(?:runs?|ran) out)": "a lease expires",
    r"(?i:behind its back)": "after it gave up",
    r"(?i:in good order)": "cleanly, undone",
    r"(?i:ma(?:de|kes?) good)": "handles, finalizes",
    r"(?i:for want of)": "because there is no",
    r"(?i:makes nobody twice)": "creates no duplicates",
}
REFUSED = re.compile(r"\b_?(?:" + "|".join(f"({word})" for word in INSTEAD) + r")\b")
FOLDERS = (
    *("functions", "layers", "statemachine", "stacks", "events", "src"),
    *("docs", "examples", "tests", "benchmarks", "requirements", ".github"),
)
SUFFIXES = {".py", ".md", ".json", ".yaml", ".yml", ".toml", ".in", ".sh", ".csv", ".html", ".css", ".js"}
# This list; AWS's own words.
EXEMPT = {"tests/contract/test_words.py", "tests/kit/service_authorization.json"}


def texts() -> Iterator[Path]:
    yield from (path for path in ROOT.iterdir() if path.suffix in SUFFIXES or path.name in {"Makefile", "stepwise"})
    for folder in FOLDERS:
        yield from (path for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES)


@cache
def found() -> list[tuple[str, str]]:
    """Pairs of a banned word as in INSTEAD and its place, in all texts."""
    words = list(INSTEAD)
    return [
        (
            words[(match.lastindex or 0) - 1],
            f"{relative_name(path)}:{text.count('\n', 0, match.start()) + 1}: {match[0]}",
        )
        for path in texts()
        if relative_name(path) not in EXEMPT
        for text in [path.read_text()]
        for match in REFUSED.finditer(text)
    ]


@pytest.mark.parametrize("word", INSTEAD)
def test_no_text_has_a_banned_word(word: str) -> None:
    places = [place for refused, place in found() if refused == word]

    assert not places, "\n".join([f"write instead: {INSTEAD[word]}", *places])
