"""Keeps the sample events of a release, to be replayed by later versions: `python -m tests.kit.released`."""

import json
import re
from pathlib import Path

from tests.kit.project import EVENTS, ROOT, read_json

RELEASED = ROOT / "tests" / "contract" / "released"


def version() -> str:
    """The last release, by the changelog. A tag is not in every clone."""
    return re.findall(r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]


def kept() -> Path:
    """Where the events of the last release are, one a line."""
    return RELEASED / f"{version()}.json"


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(read_json(path), ensure_ascii=False)}" for name, path in EVENTS.items())
    kept().write_text("{\n" + ",\n".join(lines) + "\n}\n")
