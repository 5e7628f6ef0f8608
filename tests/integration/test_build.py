"""`sam build` leaves every source with its bytecode, because Lambda cannot write any."""

import importlib.util
from pathlib import Path

from local.deployment import build
from local.emulator import emulator

# The second word of a .pyc: bytecode with its source's hash, not checked at import (PEP 552).
UNCHECKED = (1).to_bytes(4, "little")


def bytecode_of(source: Path) -> bytes:
    """The head of a source's bytecode: Python's magic number, the kind of check, the source's hash."""
    compiled = Path(importlib.util.cache_from_source(str(source)))
    return compiled.read_bytes()[:16] if compiled.exists() else b"missing"


def test_every_source_is_shipped_with_its_own_bytecode(running: emulator.Emulator) -> None:
    sources = list(build(running.endpoint, running.log).rglob("*.py"))
    right = {
        source: importlib.util.MAGIC_NUMBER + UNCHECKED + importlib.util.source_hash(source.read_bytes())
        for source in sources
    }

    assert len(sources) > 100
    assert [source for source in sources if bytecode_of(source) != right[source]] == []
