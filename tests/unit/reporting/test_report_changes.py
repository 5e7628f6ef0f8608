"""Changes read from records of the Orders stream."""

import itertools
from typing import Any

import pytest

from reporting.change import Contribution, MalformedRecord, RevisionNotRaised, order_id_of, read_change, sequence_number
from tests.kit.history import TIME_TO_LIVE, History, Record
from tests.kit.project import ROOT, read_json

NEW = Contribution("2026-11-20", "New", "JPY", 3000)
CONFIRMED = Contribution("2026-11-20", "Confirmed", "JPY", 3000)
IMAGE_FIELDS = ["created_at", "created_ymd", "currency", "revision", "status", "total"]
NO_VALUES: list[Any] = [None, {"S": ""}, {"N": "1.5"}, {"BOOL": True}]
WRONG_TEXTS: list[Any] = [(name, {"S": "xxx"}) for name in ("created_at", "revision", "total")]


@pytest.fixture
def history() -> History:
    """One order, placed."""
    orders = History()
    orders.place("o-1")
    return orders


def new_image(record: Record) -> dict[str, Any]:
    image: dict[str, Any] = record["dynamodb"]["NewImage"]
    return image


def test_new_order_adds_itself(history: History) -> None:
    change = read_change(history.records[0])

    assert (change.order_id, change.before, change.after) == ("o-1", None, NEW)


def test_change_has_the_old_and_new_contribution_of_the_order(history: History) -> None:
    change = read_change(history.change("o-1", status="Confirmed"))

    assert (change.before, change.after) == (NEW, CONFIRMED)


def test_order_deleted_by_a_person_contributes_nothing(history: History) -> None:
    change = read_change(history.delete("o-1"))

    assert (change.before, change.after) == (NEW, None)


def test_expired_order_still_counts(history: History) -> None:
    change = read_change(history.expire("o-1"))

    assert (change.before, change.after) == (NEW, NEW)


@pytest.mark.parametrize("name", TIME_TO_LIVE)
def test_deletion_by_another_service_counts_like_one_by_a_person(history: History, name: str) -> None:
    record = history.delete("o-1") | {"userIdentity": {**TIME_TO_LIVE, name: "another"}}

    assert read_change(record).after is None


def test_versions_grow_from_state_to_state_and_a_deletion_is_the_last(history: History) -> None:
    history.change("o-1", status="Confirmed")
    history.change("o-1")
    history.delete("o-1")
    versions = [read_change(record).version for record in history.records]

    assert versions == sorted(set(versions))


def test_restored_order_with_the_next_revision_follows_its_deletion(history: History) -> None:
    row = history.rows["o-1"]
    deleted = read_change(history.delete("o-1"))
    put_back = read_change(history.write("o-1", {**row, "revision": row["revision"] + 1}))

    assert put_back.created_at == deleted.created_at
    assert put_back.version > deleted.version


def test_recreated_order_has_another_life(history: History) -> None:
    history.delete("o-1")

    assert read_change(history.place("o-1")).created_at != read_change(history.records[0]).created_at


@pytest.mark.parametrize("text", ["2026-11-20T23:59:58Z", "2026-11-21T08:59:58+09:00", "2026-11-20T23:59:58.000+00:00"])
def test_spelling_of_a_time_does_not_matter(history: History, text: str) -> None:
    first = read_change(history.records[0]).created_at
    new_image(history.records[0])["created_at"] = {"S": text}

    assert read_change(history.records[0]).created_at == first


@pytest.mark.parametrize(("name", "value"), [*itertools.product(IMAGE_FIELDS, NO_VALUES), *WRONG_TEXTS], ids=repr)
def test_invalid_order_is_rejected_without_its_values(history: History, name: str, value: Any) -> None:
    image = new_image(history.records[0])
    if value is None:
        del image[name]
    else:
        image[name] = value

    with pytest.raises(MalformedRecord, match=rf"^{name}: ") as refused:
        read_change(history.records[0])
    assert "xxx" not in str(refused.value)


def test_time_without_a_zone_is_rejected(history: History) -> None:
    new_image(history.records[0])["created_at"] = {"S": "2026-11-20T23:59:58"}

    with pytest.raises(MalformedRecord, match="time zone"):
        read_change(history.records[0])


def test_record_without_images_is_rejected(history: History) -> None:
    del history.records[0]["dynamodb"]["NewImage"]

    with pytest.raises(MalformedRecord, match="OldImage"):
        read_change(history.records[0])


@pytest.mark.parametrize("revision", [0, 1])
def test_change_without_a_higher_revision_is_rejected(history: History, revision: int) -> None:
    record = history.write("o-1", {**history.rows["o-1"], "status": "Confirmed", "revision": revision})

    with pytest.raises(RevisionNotRaised):
        read_change(record)


def test_order_note_needs_no_revision(history: History) -> None:
    change = read_change(history.write("o-1", {**history.rows["o-1"], "note": "call back"}))

    assert change.before == change.after == NEW


def test_order_life_has_one_beginning(history: History) -> None:
    row = {**history.rows["o-1"], "created_at": "2026-11-22T00:00:00+00:00", "revision": 2}

    with pytest.raises(MalformedRecord, match="created_at"):
        read_change(history.write("o-1", row))


@pytest.mark.parametrize("name", IMAGE_FIELDS)
def test_repaired_row_is_counted(history: History, name: str) -> None:
    record = history.change("o-1", status="Confirmed")
    del record["dynamodb"]["OldImage"][name]

    assert read_change(record).after == CONFIRMED


def test_record_is_identified_by_its_order_and_number(history: History) -> None:
    record = history.records[0]

    assert order_id_of(record) == "o-1"
    assert sequence_number(record) == record["dynamodb"]["SequenceNumber"]


def test_sample_events_match_their_names() -> None:
    events = {path.stem: read_json(path)["Records"] for path in (ROOT / "events/reporting").glob("report_orders*.json")}
    statuses = [read_change(record).after for record in events["report_orders"]]

    assert [contribution.status for contribution in statuses if contribution] == ["New", "Confirmed"]
    assert read_change(events["report_orders_deleted"][0]).after is None
    assert read_change(events["report_orders_expired"][0]).after is not None
    with pytest.raises(MalformedRecord):
        read_change(events["report_orders_malformed"][0])
