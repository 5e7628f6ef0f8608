"""The size of a benchmark, and the destination of its figures: the terminal and, with WRITE=1, docs/benchmarks.md.

SMALLEST=1 is for `make test`, which only checks that every benchmark still runs.
"""

import hashlib
import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.table import Table

from stepwise.cli import views
from stepwise.local.emulator.emulator import ROOT

DOCUMENT = ROOT / "docs" / "benchmarks.md"
_SMALLEST = os.environ.get("SMALLEST") == "1"
# Captured before the benchmark adds to it.
_LOAD = os.getloadavg()[0]
_SECTION = re.compile(
    r"^<!-- figures of (?P<name>[\w. -]+?)(?:, sha256 (?P<digest>\w+))? -->\n(?P<body>.*?)^<!-- end -->$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the document that one program writes. name: the program and its arguments.

    body: "" if unwritten.
    digest: hash of the body, to detect figures edited by hand.
    """

    name: str
    digest: str | None
    body: str

    @property
    def is_as_written(self) -> bool:
        return self.digest == (_digest(self.body) if self.body else None)


def size[T](usual: T, smallest: T) -> T:
    """Return the usual size, or the smallest one that still runs all the code."""
    return smallest if _SMALLEST else usual


def show(name: str, *tables: Table) -> None:
    """Print tables; with WRITE=1, they also replace the program's section of the document."""
    views.console().print(*tables)
    if os.environ.get("WRITE") == "1":
        if _SMALLEST:
            raise ValueError("SMALLEST=1 measures nothing worth writing: leave out WRITE=1")
        DOCUMENT.write_text(with_section(DOCUMENT.read_text(), name, _body(tables)))


def with_section(text: str, name: str, body: str) -> str:
    """Replace the body of a section in the text. Raises ValueError unless the text has the section once."""

    def replaced(found: re.Match[str]) -> str:
        return f"<!-- figures of {name}, sha256 {_digest(body)} -->\n{body}<!-- end -->" if is_it(found) else found[0]

    def is_it(found: re.Match[str]) -> bool:
        return found["name"] == name

    if sum(map(is_it, _SECTION.finditer(text))) != 1:
        raise ValueError(f"{DOCUMENT.name} needs the lines '<!-- figures of {name} -->' and '<!-- end -->' once")
    return _SECTION.sub(replaced, text)


def sections(text: str) -> Iterator[Section]:
    return (Section(found["name"], found["digest"], found["body"]) for found in _SECTION.finditer(text))


def written(name: str, row: str) -> dict[str, str]:
    """Figures of a program's first row with this name, by column. Raises LookupError if there is none."""
    for section in sections(DOCUMENT.read_text()):
        heads: list[str] = []
        for line in section.body.splitlines() if section.name == name else []:
            cells = line.strip("| ").split(" | ")
            heads = heads or cells if line.startswith("|") else []
            if cells[0] == row:
                return dict(zip(heads, cells, strict=True))
    raise LookupError(f"{name} has written no figures of {row}")


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]


def _body(tables: tuple[Table, ...]) -> str:
    machine = f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"
    when = f"{datetime.now(UTC):%-d %B %Y}"
    parts = [f"Measured on {when}: {machine}, load average {_LOAD:.1f} before.", *map(markdown, tables)]
    return "\n\n".join(parts) + "\n"


def markdown(table: Table) -> str:
    """Convert a terminal table to Markdown, below its title."""
    rows = [[str(column.header) for column in table.columns], ["---"] * len(table.columns)]
    rows += [list(map(str, cells)) for cells in zip(*(column.cells for column in table.columns), strict=True)]
    return f"**{table.title}**\n\n" + "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
