"""A function's environment variables, as its code sees them."""

from dataclasses import dataclass

import pytest

from runtime.environment import InvalidEnvironment, read_environment

VARIABLES = {"BUS_STOP": "Kita-Oji", "SEATS": "40", "HOME": "/"}


@dataclass(frozen=True)
class Stop:
    bus_stop: str


@dataclass(frozen=True)
class Bus(Stop):
    seats: int


def test_each_field_is_the_variable_of_its_name_in_upper_case() -> None:
    assert read_environment(Bus, VARIABLES) == Bus(bus_stop="Kita-Oji", seats=40)


def test_the_environment_of_the_process_is_read_unless_another_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUS_STOP", "Demachi")

    assert read_environment(Stop) == Stop(bus_stop="Demachi")


@pytest.mark.parametrize("name", ["BUS_STOP", "SEATS"])
def test_a_missing_variable_is_named(name: str) -> None:
    variables = {key: value for key, value in VARIABLES.items() if key != name}

    with pytest.raises(InvalidEnvironment, match=rf"^{name} is not set"):
        read_environment(Bus, variables)


@pytest.mark.parametrize("name", ["BUS_STOP", "SEATS"])
def test_an_empty_variable_is_as_good_as_missing(name: str) -> None:
    with pytest.raises(InvalidEnvironment, match=rf"^{name} is not set"):
        read_environment(Bus, {**VARIABLES, name: ""})


@pytest.mark.parametrize("text", ["forty", "-1", "4.0", "1e3", "0x10", " 40", "4 0", "²"])
def test_a_number_must_be_whole(text: str) -> None:
    with pytest.raises(InvalidEnvironment, match=r"^SEATS is not a whole number$"):
        read_environment(Bus, {**VARIABLES, "SEATS": text})
