"""A function's environment variables, as its code reads them."""

import pytest

from accounts.definition import ACCOUNT_SETUP, REGISTER_CUSTOMER, SUBMIT_APPLICATION
from runtime.environment import InvalidEnvironment, Variables
from runtime.stores import StoreEnvironment, saga_steps


class Stop(Variables):
    bus_stop: str


class Bus(Stop):
    seats: int
    route: str = ""


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUS_STOP", "Kita-Oji")
    monkeypatch.setenv("SEATS", "40")


def test_each_field_is_the_variable_of_its_upper_case_name() -> None:
    bus = Bus()

    assert (bus.bus_stop, bus.seats) == ("Kita-Oji", 40)
    assert Bus.fields() == ["bus_stop", "seats", "route"]


def test_field_is_read_on_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEATS")
    bus = Bus()
    monkeypatch.setenv("BUS_STOP", "Demachi")

    assert bus.bus_stop == "Demachi"
    with pytest.raises(InvalidEnvironment, match=r"^SEATS is not set"):
        _ = bus.seats


def test_given_value_is_not_read_from_the_environment() -> None:
    assert Bus(seats=2).seats == 2
    assert Bus(seats=2).bus_stop == "Kita-Oji"


@pytest.mark.parametrize("text", ["", "Loop"])
def test_field_with_a_default_may_be_empty(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Bus().route == ""
    monkeypatch.setenv("ROUTE", text)
    assert Bus().route == text


@pytest.mark.parametrize("name", ["BUS_STOP", "SEATS"])
def test_empty_variable_counts_as_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "")
    with pytest.raises(InvalidEnvironment, match=rf"^{name} is not set"):
        getattr(Bus(), name.lower())


@pytest.mark.parametrize("text", ["forty", "-1", "4.0", "1e3", "0x10", " 40", "4 0", "²"])
def test_number_must_be_an_integer(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEATS", text)
    with pytest.raises(InvalidEnvironment, match=r"^SEATS is not a whole number$"):
        _ = Bus().seats


class Setup(StoreEnvironment):
    applications_table: str
    setups_table: str


def test_table_of_a_saga_is_read_on_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    environment = Setup(idempotency_table="records", record_lifetime_days=1, applications_table="applications")
    steps = saga_steps(ACCOUNT_SETUP, environment)

    assert steps.table(SUBMIT_APPLICATION) == "applications"
    with pytest.raises(InvalidEnvironment, match=r"^SETUPS_TABLE is not set"):
        steps.table(REGISTER_CUSTOMER)
