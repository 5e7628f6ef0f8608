"""Applies a guide of docs/ to a copy of the repository: creates files and changes lines, block by block."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.kit.project import ROOT

_CODE = r"(?P<{0}_>`+)(?P<{0}>.+?)(?P={0}_)"
_EDIT = re.compile(
    rf"^`(?P<file>[^`]+)`,"
    rf"(?: below {_CODE.format('below')},)?"
    rf" (?P<how>new|before|before every|after|instead of)(?: {_CODE.format('line')})?:\n\n"
    rf"```\w*\n(?P<block>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_LEFT_OUT = ("*.git", ".venv*", ".stepwise", ".aws-sam", "__pycache__", ".*_cache", ".hypothesis")


@dataclass(frozen=True, slots=True)
class Edit:
    """One block of the guide. line: part of the line where it goes. below: part of an earlier line."""

    file: str
    how: str
    line: str
    below: str
    block: str

    def apply(self, root: Path) -> None:
        """Raises LookupError unless the line exists exactly once."""
        path = root / self.file
        if self.how == "new":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.block)
            return
        lines = path.read_text().splitlines(keepends=True)
        for place in reversed(self._places(lines)):
            first = place + (self.how == "after")
            lines[first : place + (self.how in {"after", "instead of"})] = [self.block]
        path.write_text("".join(lines))

    def _places(self, lines: list[str]) -> list[int]:
        begin = next(place for place, line in enumerate(lines) if self.below in line)
        places = [place for place in range(begin, len(lines)) if self.line in lines[place]]
        if self.below:
            places = places[:1]
        if not places or (len(places) > 1 and "every" not in self.how):
            raise LookupError(f"{self.file}: {len(places)} lines with {self.line!r}")
        return places


def edits(guide: str) -> Iterator[Edit]:
    """The blocks of a guide, in order."""
    for match in _EDIT.finditer(guide):
        yield Edit(match["file"], match["how"], match["line"] or "", match["below"] or "", match["block"])


def blocks(guide: str) -> int:
    """The number of blocks that belong to a file."""
    return len(re.findall(r"^```(?:python|yaml|json|markdown)$", guide, re.MULTILINE))


def copy(to: Path) -> Path:
    """A copy of the repository with the same environments."""
    shutil.copytree(ROOT, to, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    for environment in ROOT.glob(".venv*"):
        (to / environment.name).symlink_to(environment)
    return to


def run(root: Path, *arguments: str, fails: bool = False, **variables: str) -> str:
    """Run Python in a copy, and return its output. Fails the test on another exit status. fails: expect a failure."""
    paths = [root, root / "functions", root / "layers" / "idempotency"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
        **variables,
    }
    ended = subprocess.run(
        [sys.executable, *arguments], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert bool(ended.returncode) == fails, ended.stdout + ended.stderr
    return ended.stdout
