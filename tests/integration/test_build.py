"""What `sam build` leaves: every source with its bytecode, as nothing can be written where Lambda runs it."""

import importlib.util
from pathlib import Path

from local.deployment import build
from local.emulator import emulator

# The second word of a .pyc: bytecode that is known by its source's hash and not checked against it (PEP 552).
UNCHECKED = (1).to_bytes(4, "little")


def bytecode_of(source: Path) -> bytes:
    """The head of a source's bytecode: Python's magic number, how it is checked, the hash of the source."""
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
