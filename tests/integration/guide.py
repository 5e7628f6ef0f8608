"""Applies a guide of docs/ to a copy of the repository: examples, new files, changes as a diff, and copies."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.kit.project import PATH, ROOT

_EDIT = re.compile(
    r"^cp -r (?P<example>examples/\w+)/\. \.$"
    r"|^`(?P<quoted>[^`]+)`, excerpt:\n\n```\w+\n(?P<excerpt>.*?)^```$"
    r"|^`(?P<new>[^`]+)`, new:\n\n```\w+\n(?P<text>.*?)^```$"
    r"|^`(?P<changed>[^`]+)`:\n\n```diff\n(?P<diff>.*?)^```$"
    r"|^\| `(?P<file>[^`]+)` \| (?P<copied>[^|]+) \|(?P<before>[^|]*)\|(?P<pairs>[^|]*)\|$",
    re.MULTILINE | re.DOTALL,
)
# Guides that are all applied to one copy of the repository.
TYPE = (ROOT / "docs" / "add-a-type.md").read_text()
APPROVAL = (ROOT / "docs" / "add-an-approval.md").read_text()
WORKFLOW = (ROOT / "docs" / "add-a-workflow.md").read_text()
# Compiled files of Python and mypy stay valid: sources keep their times.
_LEFT_OUT = ("*.git", ".venv*", ".stepwise", ".aws-sam", ".ruff_cache", ".pytest_cache", ".hypothesis")


class Edit(Protocol):
    """A block of the guide, or a row of a table of copies."""

    def apply(self, root: Path) -> None:
        """Apply the edit. Raises LookupError if the lines are not there, or are there more than once."""
        ...


@dataclass(frozen=True, slots=True)
class Example:
    """The files of a folder in examples/, laid out as in the repository."""

    folder: str

    def apply(self, root: Path) -> None:
        shutil.copytree(root / self.folder, root, dirs_exist_ok=True)


@dataclass(frozen=True, slots=True)
class Quote:
    """An excerpt of a file. A line `...` or `# ...` stands for omitted lines."""

    file: str
    excerpt: str

    def apply(self, root: Path) -> None:
        text = (root / self.file).read_text()
        for part in re.split(r"^ *(?:# )?\.\.\.\n", self.excerpt, flags=re.MULTILINE):
            _, found, text = text.partition(part)
            if found != part:
                raise LookupError(f"{self.file} lacks, or has in another order: {part!r}")


@dataclass(frozen=True, slots=True)
class New:
    file: str
    text: str

    def apply(self, root: Path) -> None:
        path = root / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a file. hunks: `@@` separates them, in file order; the text after `@@` precedes the first match."""

    file: str
    hunks: str

    def apply(self, root: Path) -> None:
        lines, begin = (root / self.file).read_text().splitlines(), 0
        for marker, hunk in re.findall(r"^@@(.*)\n((?:[ +-].*\n)+)", f"@@\n{self.hunks}", re.MULTILINE):
            if marker:
                begin = _only(
                    [place for place in range(len(lines)) if marker.strip() in lines[place]][:1], self, marker
                )
            before = [line[1:] for line in hunk.splitlines() if line[0] in " -"]
            after = [line[1:] for line in hunk.splitlines() if line[0] in " +"]
            found = [place for place in range(begin, len(lines)) if lines[place : place + len(before)] == before]
            place = _only(found[:1] if marker else found, self, hunk)
            lines[place : place + len(before)] = after
            begin = place + len(after)
        (root / self.file).write_text("\n".join([*lines, ""]))


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of blocks or a file. names: the copied blocks; empty for a whole file. before: part of the next line."""

    file: str
    names: tuple[str, ...]
    before: str
    pairs: tuple[tuple[str, str], ...]

    def apply(self, root: Path) -> None:
        path = root / self.file
        if not self.before:
            path.write_text(self._replaced((root / self.names[0]).read_text()))
            return
        lines = path.read_text().splitlines()
        copied = [line for name in self.names for line in self._block(lines, name)]
        place = _only([at for at, line in enumerate(lines) if self.before in line], self, self.before)
        lines[place:place] = self._replaced("\n".join(copied)).split("\n")
        path.write_text("\n".join([*lines, ""]))

    def _block(self, lines: list[str], name: str) -> list[str]:
        """The block from the line with the name as its key to the last more deeply indented or closing line."""
        begin = _only([at for at, line in enumerate(lines) if re.match(rf' *"?{name}"?:( {{)?$', line)], self, name)
        indent = len(lines[begin]) - len(lines[begin].lstrip())
        end = begin + 1
        while not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent:
            end += 1
        return lines[begin : end + (lines[end].strip() in {"}", "},"})]

    def _replaced(self, text: str) -> str:
        for old, new in self.pairs:
            if old not in text:
                raise LookupError(f"{self.file}: nothing to replace: {old!r}")
            text = text.replace(old, new)
        return text


def _only(places: list[int], edit: Change | Copy, what: str) -> int:
    if len(places) != 1:
        raise LookupError(f"{edit.file}: {len(places)} places with {what!r}")
    return places[0]


def edits(guide: str) -> Iterator[Edit]:
    """The edits of a guide, in order."""
    for match in _EDIT.finditer(guide):
        if match["example"]:
            yield Example(match["example"])
        elif match["quoted"]:
            yield Quote(match["quoted"], match["excerpt"])
        elif match["new"]:
            yield New(match["new"], match["text"])
        elif match["changed"]:
            yield Change(match["changed"], match["diff"])
        else:
            pairs = re.findall(r"`([^`]+)` → `([^`]+)`", match["pairs"])
            yield Copy(
                match["file"],
                tuple(re.findall(r"`([^`]+)`", match["copied"])),
                match["before"].strip("` "),
                tuple(pairs),
            )


def blocks(guide: str) -> int:
    """Count the blocks that belong to a file, copied examples, and rows of copies."""
    rows = re.findall(r"^\| file \| copy \|.*\n\| --- .*\n((?:\|.*\n)+)", guide, re.MULTILINE)
    fences = re.findall(r"^```(?:python|yaml|json|markdown|diff)$|^cp -r examples/", guide, re.MULTILINE)
    return len(fences) + sum(table.count("\n") for table in rows)


def copy(to: Path) -> Path:
    """Create a copy of the repository with the same environments."""
    shutil.copytree(ROOT, to, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    for environment in ROOT.glob(".venv*"):
        (to / environment.name).symlink_to(environment)
    return to


def run(root: Path, *arguments: str, fails: bool = False, **variables: str) -> str:
    """Run Python in a copy, and return its output. Fails the test on another exit status. fails: expect a failure."""
    paths = [root / folder.relative_to(ROOT) for folder in PATH]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), **variables}
    ended = subprocess.run(
        [sys.executable, *arguments], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert bool(ended.returncode) == fails, ended.stdout + ended.stderr
    return ended.stdout
