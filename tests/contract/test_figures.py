"""The figures in docs/benchmarks.md are the ones that the benchmarks wrote."""

import re
from pathlib import Path

import pytest

from benchmarks import results
from stepwise.cli import views
from tests.kit.project import ROOT
from tests.kit.targets import MAKEFILE

PROGRAMS = re.findall(r"python -m (benchmarks\.\w+)", MAKEFILE.read_text())
EMPTY = "<!-- figures of benchmarks.tasks -->\n<!-- end -->\n"


def test_every_program_has_a_section() -> None:
    found = [section.name for section in results.sections(results.DOCUMENT.read_text())]

    assert sorted(found) == sorted(PROGRAMS)


def test_every_benchmark_shows_its_figures_under_its_name() -> None:
    shown = {
        path.stem for path in (ROOT / "benchmarks").glob("*.py") if re.search(r"^ +show\(", path.read_text(), re.M)
    }

    assert {f"benchmarks.{name}" for name in shown} == set(PROGRAMS)


def test_no_figure_is_typed_by_hand() -> None:
    assert [one.name for one in results.sections(results.DOCUMENT.read_text()) if not one.is_as_written] == []


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    document = tmp_path / "benchmarks.md"
    document.write_text(f"before\n{EMPTY}after\n")
    monkeypatch.setattr(results, "DOCUMENT", document)
    monkeypatch.setattr(results, "_SMALLEST", False)
    monkeypatch.setenv("WRITE", "1")
    return document


def _show(name: str = "benchmarks.tasks", items: str = "1.25") -> None:
    results.show(name, views.table("Tasks", ["type", "items/s"], [["checksum", items]]))


def test_figures_are_written_twice_and_a_typed_one_is_detected(document: Path) -> None:
    _show()
    _show(items="2.50")
    text = document.read_text()
    (section,) = results.sections(text)
    (typed,) = results.sections(text.replace("2.50", "3.50"))
    with pytest.raises(LookupError, match="no figures of other"):
        results.written("benchmarks.tasks", "other")

    assert text.startswith("before\n<!-- figures of benchmarks.tasks, sha256 ")
    assert text.endswith("<!-- end -->\nafter\n")
    assert re.match(r"Measured on \d+ \w+ 20\d\d: \d+ cores \(\w+\), Python 3\.\d+\.\d+, load average ", section.body)
    assert section.body.endswith("**Tasks**\n\n| type | items/s |\n| --- | --- |\n| checksum | 2.50 |\n")
    assert results.written("benchmarks.tasks", "checksum") == {"type": "checksum", "items/s": "2.50"}
    assert section.is_as_written
    assert not typed.is_as_written


def test_figures_without_a_digest_count_as_typed() -> None:
    (section,) = results.sections(EMPTY.replace("\n<!-- end", "\n12 a second\n<!-- end"))

    assert not section.is_as_written


@pytest.mark.usefixtures("document")
def test_program_without_a_section_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"figures of benchmarks\.other"):
        _show("benchmarks.other")


def test_smallest_sizes_are_not_written(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "_SMALLEST", True)
    with pytest.raises(ValueError, match="SMALLEST"):
        _show()

    assert document.read_text() == f"before\n{EMPTY}after\n"
