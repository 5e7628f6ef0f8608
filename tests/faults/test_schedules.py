"""Schedules as text. Starts nothing."""

from collections import Counter

import pytest

from tests.faults.actors.schedule import Schedule
from tests.faults.commands.schedule import Schedule as Commands
from tests.faults.faults import UnknownFault
from tests.faults.imports.schedule import Schedule as Imports
from tests.faults.people.schedule import Schedule as People
from tests.faults.stock.schedule import Schedule as Stock
from tests.faults.tasks.schedule import Schedule as Tasks
from tests.faults.users.schedule import Schedule as Users
from tests.faults.webhooks.schedule import Schedule as Webhooks
from tests.faults.zips.schedule import Schedule as Zips

KINDS = (Commands, Imports, People, Stock, Tasks, Users, Webhooks, Zips)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.NAME)
@pytest.mark.parametrize("text", ["orders 7", "NAME", "NAME x", "NAME 7: nonsense at finish@1.1"])
def test_invalid_schedule_is_rejected(kind: type[Schedule], text: str) -> None:
    with pytest.raises((ValueError, UnknownFault)):
        kind.parse(text.replace("NAME", kind.NAME))


def test_schedule_survives_a_round_trip_through_text() -> None:
    text = "commands 7: dies after finish@1.1#1.call3; record late: record:StartCommands#2"
    assert str(Commands.parse(text)) == text
    assert Counter(fault.kind for fault in Commands.parse(text).faults or ()) == {"dies after": 1, "record late:": 1}
