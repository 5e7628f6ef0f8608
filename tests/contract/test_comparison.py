"""The comparison's figures agree with each other: table by kind, sums, shares, chart."""

import re

from tests.kit.project import ROOT

TEXT = (ROOT / "docs" / "comparison.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if line.startswith("| ")]
KINDS = [
    row
    for row in ROWS
    if len(row) == 7 and re.match(r"\d", row[1]) and row[0] not in {"sum", "wrong without any fault"}
]


def _figures(cell: str) -> tuple[int, int, int]:
    """The numbers of wrong runs, of scenarios, and of wrong runs without a notice."""
    numbers = [int(number.replace(",", "")) for number in re.findall(r"[\d,]+", cell)]
    return (numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else 0)


def test_the_kinds_add_up_to_the_sums() -> None:
    (sums,) = (row for row in ROWS if row[0] == "sum")

    for column in range(1, 7):
        found = [_figures(row[column]) for row in KINDS]
        assert tuple(map(sum, zip(*found, strict=True))) == _figures(sums[column])


def test_table_and_chart_show_the_sums() -> None:
    (sums,) = (row for row in ROWS if row[0] == "sum")
    wanted = [_figures(cell) for cell in sums[1:]]
    shares = [round(100 * wrong / scenarios) for wrong, scenarios, _ in wanted]
    listed = [row for row in ROWS if len(row) == 4 and row[2].endswith("%")]

    assert [(*_figures(row[1])[:2], int(row[3])) for row in listed[:6]] == wanted
    assert [int(row[2].rstrip(" %")) for row in listed[:6]] == shares
    assert f"bar [{', '.join(map(str, shares))}]" in TEXT
