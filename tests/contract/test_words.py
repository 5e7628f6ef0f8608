"""Tracked text uses the field's words: timeout, simulator, invariant, finalization, backoff, inject."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.project import ROOT, relative_name

# What to write instead, by the refused word. A word in capitals is a prefix of names.
INSTEAD = {
    r"time-outs?": "timeout",
    r"stand-ins?": "simulator",
    r"laws?": "invariant",
    r"settle(ment|ments|s|d)?|settling": "finalization, finalize",
    r"patience": "backoff",
    r"twins?": "concurrent duplicate",
    r"vanish(es|ed)?": "a crashed owner",
    r"strikes?|struck|striking": "inject",
    r"(MOST|LONGEST|LEAST)_\w+": "MAX_, MIN_",
    r"on duty": "on call",
    r"whoever": "who, or name the role",
    r"anew": "again",
    r"for ever": "forever",
    r"nobody's wish": "say what fails fast",
    r"whatever becomes of": "even if one fails",
    r"what (he|she|it|they) (has|have) not": "what is missing",
}
REFUSED = {
    re.compile(rf"\b_?(?:{word})\b", re.NOFLAG if "MOST" in word else re.IGNORECASE): say
    for word, say in INSTEAD.items()
}
FOLDERS = (
    *("functions", "layers", "statemachine", "events", "operations", "cli", "deployment", "local"),
    *("docs", "tests", "benchmarks", "requirements", ".github"),
)
SUFFIXES = {".py", ".md", ".json", ".yaml", ".yml", ".toml", ".in", ".sh", ".csv"}
# This list; AWS's own words.
EXEMPT = {"tests/contract/test_words.py", "tests/kit/service_authorization.json"}


def texts() -> Iterator[Path]:
    yield from (path for path in ROOT.iterdir() if path.suffix in SUFFIXES or path.name in {"Makefile", "stepwise"})
    for folder in FOLDERS:
        yield from (path for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES)


@pytest.mark.parametrize("word", REFUSED, ids=INSTEAD)
def test_no_text_has_a_refused_word(word: re.Pattern[str]) -> None:
    found = [
        f"{relative_name(path)}:{number}: {line.strip()[:100]}"
        for path in texts()
        if relative_name(path) not in EXEMPT and "service_models" not in path.parts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if word.search(line)
    ]

    assert not found, "\n".join([f"write instead: {REFUSED[word]}", *found])
