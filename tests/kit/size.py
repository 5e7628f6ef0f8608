"""Counts the contents of the repository: `make size`, or beside an earlier commit `make size AGAINST=COMMIT`.

Only files that Git tracks count. A line is a line of the file, blank or not.
"""

import io
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.kit.project import ROOT

type Counts = dict[str, int]

DEPLOYED = ("functions", "layers")
# Before the move, and after it.
TOOLS = ("cli", "console", "operations", "deployment", "local", "src/stepwise")
SMALL, LARGE = 60, 450
# A field of the task's row that is stored, counted, listed and shown: a new one touches the same files.
FIELD = "failed_items"
# A duplicate is longer than six lines.
WINDOW = 7

_LONG_ON_PURPOSE = re.compile(r"Description|AllowedPattern")
_VAGUE = re.compile(r'^\s*"""(What|Of|Whether)\b', re.MULTILINE)
_HANDLER = re.compile(r"\bHandler: ([\w.]+)\.(\w+)")
_ALARM = re.compile(r"Type: AWS::CloudWatch::(?:Composite)?Alarm\b")
# A section of a page, or an earlier version's file.
_DECISION = re.compile(r"^(?:## \d+[.,] |\*\*What\.?\*\*)", re.MULTILINE)
_IMPORTED = re.compile(r"^from \S+ import \([^)]*\)", re.MULTILINE)
_LEFT_OUT = re.compile(r"^(import|from) |^[\])}]*,?$|^#")


@dataclass(frozen=True)
class Tree:
    """The tracked files of a version. texts: by path from the root; without binary files."""

    texts: Mapping[str, str]

    @classmethod
    def read(cls, folder: Path, paths: Iterable[str]) -> "Tree":
        found = {}
        for path in sorted(paths):
            # A tracked file may be deleted, and a link has no text.
            if (file := folder / path).is_file() and not file.is_symlink():
                content = file.read_bytes()
                if b"\0" not in content:
                    found[path] = content.decode(errors="replace")
        return cls(found)

    def under(self, *folders: str, suffix: str = ".py") -> dict[str, str]:
        """The files in these folders, or in all, with this suffix."""
        inside = tuple(f"{folder}/" for folder in folders) or ("",)
        return {path: text for path, text in self.texts.items() if path.startswith(inside) and path.endswith(suffix)}

    @cached_property
    def templates(self) -> dict[str, str]:
        roots = {path: text for path, text in self.texts.items() if path == "template.yaml"}
        return {**roots, **self.under("stacks", suffix=".yaml")}

    @cached_property
    def product(self) -> dict[str, str]:
        return self.under(*DEPLOYED, *TOOLS)

    def touched(self) -> list[str]:
        """The files outside tests and documents that name FIELD."""
        named = re.compile(rf"\b{FIELD}\b")
        outside = (path for path in self.texts if not path.startswith(("tests/", "docs/")) and not path.endswith(".md"))
        return [path for path in outside if named.search(self.texts[path])]

    def counts(self) -> Counts:
        """Counts by name."""
        return {**self._python(), **self._deployment(), **self._prose(), **self._duplicates()}

    def _python(self) -> Counts:
        kinds = {
            "deployed Python": self.under(*DEPLOYED),
            "tools": self.under(*TOOLS),
            "tests": self.under("tests"),
            "tests/faults, of these": self.under("tests/faults"),
            "benchmarks": self.under("benchmarks"),
        }
        lengths = [*map(_lines, self.product.values())]
        return {
            **{f"lines: {kind}": sum(map(_lines, texts.values())) for kind, texts in kinds.items()},
            "product modules": len(lengths),
            f"product modules below {SMALL} lines": sum(length < SMALL for length in lengths),
            f"product modules above {LARGE} lines": sum(length > LARGE for length in lengths),
            "docstrings that begin with What, Of or Whether": sum(
                len(_VAGUE.findall(text)) for text in self.under().values()
            ),
        }

    def _deployment(self) -> Counts:
        texts = [*self.templates.values()]
        handlers = {found for text in texts for found in _HANDLER.findall(text)}
        return {
            "handlers": len(handlers),
            "handler modules": len({module for module, _ in handlers}),
            "files that a new field of a task touches": len(self.touched()),
            "alarms": sum(len(_ALARM.findall(text)) for text in texts),
            "stacks, without the root": sum(path != "template.yaml" for path in self.templates),
            "lines: ASL": sum(map(_lines, self.under("statemachine", suffix=".json").values())),
            "lines: templates": sum(map(_lines, texts)),
            **{f"longest line: {path}": _longest(text) for path, text in self.templates.items()},
        }

    def _prose(self) -> Counts:
        documents = self.under(suffix=".md")
        decisions = (text for path, text in documents.items() if path.startswith("docs/decisions/"))
        return {
            "words: all documents": sum(len(text.split()) for text in documents.values()),
            "words: README.md": len(documents.get("README.md", "").split()),
            "decisions": sum(len(_DECISION.findall(text)) for text in decisions),
        }

    def _duplicates(self) -> Counts:
        found: Counts = {}
        for kind, texts in (("product", self.product), ("tests", self.under("tests")), ("templates", self.templates)):
            blocks = [*repeated(texts.values())]
            found[f"duplicates above {WINDOW - 1} lines: {kind}"] = len(blocks)
            found[f"lines in these: {kind}"] = sum(blocks)
        return found


def repeated(texts: Iterable[str]) -> Iterator[int]:
    """The length of each block of lines that occurs elsewhere too. Blank lines, imports and comments are left out."""
    bare = (map(str.strip, _IMPORTED.sub("", text).splitlines()) for text in texts)
    files = [[line for line in lines if not _LEFT_OUT.match(line)] for lines in bare]
    times = Counter(window for lines in files for window in _windows(lines))
    for lines in files:
        covered = {
            at + offset for at, window in enumerate(_windows(lines)) if times[window] > 1 for offset in range(WINDOW)
        }
        yield from _runs(sorted(covered))


def _windows(lines: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return (tuple(lines[at : at + WINDOW]) for at in range(len(lines) - WINDOW + 1))


def _runs(numbers: Sequence[int]) -> Iterator[int]:
    """The lengths of runs of successive numbers."""
    length = 0
    for at, number in enumerate(numbers):
        length += 1
        if at + 1 == len(numbers) or numbers[at + 1] != number + 1:
            yield length
            length = 0


def _lines(text: str) -> int:
    return text.count("\n")


def _longest(text: str) -> int:
    return max((len(line) for line in text.splitlines() if not _LONG_ON_PURPOSE.search(line)), default=0)


def now() -> Tree:
    """The files on disk."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return Tree.read(ROOT, filter(None, listed.split("\0")))


def committed(commit: str) -> Tree:
    """The files of a commit. Raises CalledProcessError if there is none."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(folder, filter="data")
        return Tree.read(Path(folder), packed.getnames())


def table(trees: Mapping[str, Tree]) -> Iterator[str]:
    """A column for each tree, and below it the files of FIELD."""
    columns = {name: tree.counts() for name, tree in trees.items()}
    rows = list(dict.fromkeys(row for counts in columns.values() for row in counts))
    width = max(map(len, rows))
    yield " ".join([" " * width, *(f"{name:>10}" for name in columns)])
    for row in rows:
        cells = (f"{counts[row]:,}" if row in counts else "-" for counts in columns.values())
        yield " ".join([f"{row:{width}}", *(f"{cell:>10}" for cell in cells)])
    for name, tree in trees.items():
        yield f"\n{name}: a new field of a task touches, as {FIELD} does"
        yield from (f"  {path}" for path in tree.touched())


def main(arguments: Sequence[str]) -> int:
    """Print the table. arguments: commits to compare with."""
    try:
        earlier = {commit[:10]: committed(commit) for commit in arguments}
    except subprocess.CalledProcessError:
        return 2
    sys.stdout.writelines(f"{line}\n" for line in table({**earlier, "now": now()}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
