"""`sam build` adds bytecode to every source, because Lambda cannot write any, and reduces the service models."""

import importlib.util
from pathlib import Path

from service_models import BY_BOTOCORE, OPERATIONS
from stepwise.local.deployment import build
from stepwise.local.emulator import emulator
from tests.kit.project import read_json
from tests.kit.template import FUNCTIONS

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


def test_every_function_is_shipped_with_the_reduced_service_models(running: emulator.Emulator) -> None:
    kept = {service: {*names, *BY_BOTOCORE.get(service, ())} for service, names in OPERATIONS.items()}
    built = build(running.endpoint, running.log)
    homes = [models.parents[1] for models in built.glob("*/*/runtime/service_models")]

    assert {home.name for home in homes if home.name != "code"} == set(FUNCTIONS)
    assert [home for home in homes if (home / "service_models.py").exists()] == []
    assert [home for home in homes if operations(home / "runtime" / "service_models") != kept] == []


def operations(models: Path) -> dict[str, set[str]]:
    return {file.parts[-3]: set(read_json(file)["operations"]) for file in models.glob("*/*/service-2.json")}
