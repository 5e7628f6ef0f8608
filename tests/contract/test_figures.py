"""The figures in docs/benchmarks.md are the ones that the benchmarks wrote."""

import re

from benchmarks import results
from tests.kit.targets import MAKEFILE

SECTIONS = list(results.sections(results.DOCUMENT.read_text()))


def test_every_program_has_a_section() -> None:
    assert sorted(one.name for one in SECTIONS) == sorted(
        re.findall(r"python -m (benchmarks\.\w+)", MAKEFILE.read_text())
    )


def test_no_figure_is_typed_by_hand() -> None:
    assert [one.name for one in SECTIONS if not one.is_as_written] == []
