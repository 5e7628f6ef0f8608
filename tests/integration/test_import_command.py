"""`stepwise import` as a person runs it, and its progress."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from stepwise.local.emulator import emulator
from stepwise.local.simulators.connect.remote_control import RemoteControl
from tests.kit.user_imports import HEADER, Person, all_usernames, csv_file, people

type Import = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def stepwise_import(running: emulator.Emulator, simulator: RemoteControl) -> Import:
    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(emulator.ROOT / "stepwise"), "import", *arguments]
        variables = {**os.environ, "STEPWISE_PORT": str(running.port)}
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)

    return call


def test_file_is_imported_and_the_result_downloaded(
    stepwise_import: Import, simulator: RemoteControl, tmp_path: Path
) -> None:
    persons = people(3)
    file, result = tmp_path / "staff.csv", tmp_path / "result.csv"
    file.write_text(csv_file(persons))
    ended = stepwise_import(str(file), "--result", str(result))

    assert ended.returncode == 0, ended.stderr
    assert "UserCreateResult_" in ended.stdout
    assert result.read_text().count("Success") == 3
    assert {person.username for person in persons} <= set(all_usernames(simulator))


def test_failed_row_exits_with_1_and_failed_rows_run_again(
    stepwise_import: Import, simulator: RemoteControl, tmp_path: Path
) -> None:
    first, second = people(2)
    file = tmp_path / "TestFile_20260228.csv"
    file.write_text(csv_file([first, Person(second.username, "short", "F", "L")]))
    ended = stepwise_import(str(file))
    key = "manual/UserCreateResult_20260228.csv"
    file.write_text(csv_file([first, second]))
    simulator.clear_requests()
    again = stepwise_import(str(file), "--retry-of", key)

    assert ended.returncode == 1
    assert f"--retry-of {key}" in ended.stdout
    assert again.returncode == 0, again.stderr
    assert [entry["username"] for entry in simulator.requests("CreateUser")] == [second.username]


def test_cp932_file_is_rejected_with_the_encoding_to_pass(stepwise_import: Import, tmp_path: Path) -> None:
    file = tmp_path / "staff.csv"
    (person,) = people(1)
    file.write_bytes(f"{HEADER}\n1,{person.username},{person.password},ﾀﾛｳ,表\n".encode("cp932"))
    refused = stepwise_import(str(file))
    ended = stepwise_import(str(file), "--encoding", "cp932")

    assert refused.returncode == 1
    assert "looks like cp932" in refused.stderr
    assert "--encoding=cp932" in refused.stderr
    assert ended.returncode == 0, ended.stderr


def test_failed_import_says_why(stepwise_import: Import, tmp_path: Path) -> None:
    file = tmp_path / "staff.csv"
    file.write_text(HEADER.replace(",", ";"))
    wrong_file = stepwise_import(str(file))
    file.write_text(csv_file(people(1)))
    wrong_instance = stepwise_import(str(file), "--instance-id", "no-such-instance")

    assert wrong_file.returncode == wrong_instance.returncode == 1
    assert "ImportFailed: InvalidHeader: the first line does not name" in wrong_file.stderr
    assert "InvalidImport: instance_id: " in wrong_instance.stderr
    assert stepwise_import(str(tmp_path / "none.csv")).returncode == 2
