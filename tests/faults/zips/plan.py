"""The import of a ZIP schedule: an archive, which may lie."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.faults.imports import plan as imports
from tests.faults.imports.plan import File
from tests.faults.imports.schedule import Schedule
from tests.kit import zip_builder

# Lies found in the directory, while inflating, and at the end of the file.
_LIES = ("DuplicateName", "WrongCrc", "WrongSize", "NotAnArchive")
_CUT = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(imports.Plan):
    """The plan of a schedule. first: the rows of all entries. entries: one file each.

    lie: the code that refuses the archive.
    """

    entries: Sequence[File]
    lie: str

    @property
    def archive(self) -> bytes:
        names = [f"PRODUCT_{number}{'.CSV' if one.padding else '.csv'}" for number, one in _numbered(self)]
        files = [zip_builder.File(name, one.text.encode()) for name, one in zip(names, self.entries, strict=True)]
        *honest, last = files
        match self.lie:
            case "DuplicateName":
                files = [*honest, last, last]
            case "WrongCrc":
                files = [*honest, replace(last, local={"crc": 7}, central={"crc": 7})]
            case "WrongSize":
                wrong = {"size": len(last.data) + 1}
                files = [*honest, replace(last, local=wrong, central=wrong)]
        data = zip_builder.archive(*files)
        return data[:-_CUT] if self.lie == "NotAnArchive" else data


def _numbered(plan: Plan) -> Sequence[tuple[int, File]]:
    return list(enumerate(plan.entries, start=1))


def plan(schedule: Schedule) -> Plan:
    chance = schedule.chance("plan")
    entries = [_entry(chance, number) for number in range(1, chance.choice((1, 2, 2, 3)) + 1)]
    entries = [imports.worked_on(schedule.chance(f"entry {number}"), one) for number, one in enumerate(entries)]
    rows = [row for entry in entries for row in entry.rows]
    options = {"parallel": chance.choice((1, 2, 10))} | ({"max_concurrency": 1} if chance.random() < 0.3 else {})
    return Plan(
        first=File(rows),
        mode=None,
        batch_rows=2,
        retries=0,
        validate_only=chance.random() < 0.1,
        uploaded=chance.random() < 0.15,
        twice=False,
        known=chance.choice((0, 0, 1, len(rows))),
        options=options,
        others=[chance.uniform(0, 20)] if chance.random() < 0.2 else [],
        stops=[chance.uniform(0, 15)] if chance.random() < 0.15 else [],
        entries=entries,
        lie=chance.choice(_LIES) if chance.random() < 0.25 else "",
        ending=schedule.chance("ending").choice((".zip", ".ZIP")),
    )


def _entry(chance: random.Random, number: int) -> File:
    """Plan an entry of up to three rows. Entries share no key."""
    rows = [imports._row(chance, one) for one in range(1, chance.choice((0, 1, 2, 3, 3)) + 1)]
    file = File([replace(row, cells=(f"{number}-{row.cells[0]}", *row.cells[1:])) for row in rows])
    return replace(file, header=("code", "nonsense", *file.header[2:])) if chance.random() < 0.05 else file
