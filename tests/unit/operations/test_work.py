"""Operators' decisions about work."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from idempotency import LeaseStore
from stepwise.operations import work
from tests.unit import dynamodb
from user_import.creation import CREATE_USER

NOW = datetime.now(UTC)


@pytest.mark.parametrize("parameters", [{"RecordLifetimeDays": "400"}, {"TaskLifetimeDays": "400"}])
def test_decision_lasts_as_long_as_the_records_of_the_stack(parameters: dict[str, str]) -> None:
    client = dynamodb.client()
    table = dynamodb.new_table(client)
    stack: Any = SimpleNamespace(dynamodb=client, outputs={"IdempotencyTable": table}, parameters=parameters)
    with pytest.raises(LookupError), LeaseStore(client, table).lease(CREATE_USER, "i/1", {}, deadline=NOW):
        raise LookupError
    work.operations(stack).complete(work.record(stack, "i/1", CREATE_USER.name), "u-1", by="ann", reason="seen")

    decided = work.record(stack, "i/1", CREATE_USER.name)
    assert not decided.expired(NOW + timedelta(days=399))
