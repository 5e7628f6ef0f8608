"""User imports on the deployed stack and the Connect simulator: every row has its result, without duplicate users."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from stepwise.local.simulators.connect.remote_control import RemoteControl
from stepwise.operations.stack import Stack
from tests.kit.injection import Resources, environment, eventually, no_concurrency
from tests.kit.local_stack import Invocation
from tests.kit.logs import all_logs
from tests.kit.user_imports import HEADER, Imports, all_usernames, created, csv_file, new_instance, people
from user_import.instances import STACK_TAG

WRONG_FILES = {
    "an open quote": (f'{HEADER}\n1,taro,Passw0rd,Taro,"Yamada\n'.encode(), "UnclosedQuote"),
    "cp932": (f"{HEADER}\n1,u1,Passw0rd1,ﾏｷ,ﾆｼ\n2,u2,Passw0rd1,ﾀﾛｳ,ﾔﾏﾀﾞ\n".encode("cp932"), "WrongEncoding"),
}


def test_upload_is_imported_once(
    imports: Imports,
    simulator: RemoteControl,
    stack: Stack,
    alerts: Callable[[str], list[Any]],
    invoke: Callable[[str, Any], Invocation],
) -> None:
    persons = people(7)
    key, version = imports.upload(csv_file(persons), "TestFile_20260131.csv")
    machine = stack.outputs["UserImportArn"]

    def name() -> str:
        started = stack.stepfunctions.list_executions(stateMachineArn=machine)["executions"]
        return next((one["name"] for one in started if one["name"].startswith("upload-20260131-")), "")

    eventually(lambda: name() != "", seconds=300)
    ended = imports.wait(name(), key)
    bucket = {"name": stack.outputs["UsersBucket"]}
    again = invoke("StartUserImport", {"detail": {"bucket": bucket, "object": {"key": key, "version-id": version}}})

    assert ended.codes == [""] * 7
    assert [result.csv_row for result in ended.results] == list(range(1, 8))
    assert {person.username for person in persons} <= set(all_usernames(simulator))
    assert again.result == {"import_id": ended.name}
    assert created(simulator) == 7
    (notice,) = alerts(ended.name)
    assert notice["summary"] == ended.output
    assert notice["summary"]["succeeded"] == 7
    assert ended.results[0].user_arn.endswith(f"/agent/{ended.user_ids[0]}")


@pytest.mark.parametrize(
    "key",
    ["TestFile_2026-01-31.csv", "testfile_20260131.csv", "TestFile_20260131.CSV", "incoming/TestFile_20260131.csv"],
)
def test_unmatched_upload_is_kept_for_a_person(imports: Imports, stack: Stack, resources: Resources, key: str) -> None:
    key, version = imports.upload(csv_file(people(1)), key)
    queue = resources["UploadFailuresQueue"]
    kept: list[str] = []

    def arrived() -> bool:
        received = stack.client("sqs").receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
        kept.extend(message["Body"] for message in received.get("Messages", []))
        return any(key in body and version in body for body in kept)

    eventually(arrived, seconds=300)
    (body,) = (body for body in kept if version in body)
    assert "UploadNameInvalid" in body


def test_history_logs_results_and_records_hold_no_row_data(
    imports: Imports, simulator: RemoteControl, stack: Stack
) -> None:
    good, refused, broken = people(3), people(2), people(2)
    for person in refused:
        message = f"{person.username} {person.password} {person.first_name} {person.last_name}"
        simulator.fail("CreateUser", "InvalidParameterException", message=message, where={"Username": person.username})
    rows = [
        person.row(number) + ",x@private-mail.example,+815551234567" for number, person in enumerate(good + refused)
    ]
    rows += [f"9,{broken[0].username},{broken[0].password},{broken[0].first_name},", f"10,{broken[1].password}"]
    ended = imports.run(f"{HEADER},email,phone\n" + "\n".join(rows))
    places = {
        "history": imports.history(ended.name),
        "logs": all_logs(stack),
        "result": imports.text(ended.output["result_key"]),
        "records": json.dumps(stack.rows("IdempotencyTable"), default=str),
    }

    assert ended.codes == ["", "", "", "ConnectRefused", "ConnectRefused", "WrongColumnCount", "WrongColumnCount"]
    assert "WrongColumnCount" in places["history"]
    assert "WrongColumnCount" in places["logs"]
    for person in good + refused + broken:
        for word in (person.username, person.password, person.first_name, person.last_name, "private-mail", "55512345"):
            assert [place for place, text in places.items() if word in text] == []


@pytest.mark.parametrize("kind", WRONG_FILES)
def test_unreadable_file_ends_the_import_and_says_why(imports: Imports, kind: str) -> None:
    data, error = WRONG_FILES[kind]
    ended = imports.run(data)

    assert (ended.status, ended.error) == ("FAILED", error)
    assert "errorMessage" in ended.cause
    assert not any(word in ended.cause for word in ("taro", "Yamada", "Passw0rd"))
    assert ended.results == []


@pytest.mark.local_only("upload what would be the newest file of all")
def test_newest_file_is_the_one_with_the_latest_date(imports: Imports) -> None:
    for key in ("TestFile_20270102.csv", "TestFile_20270110.csv", "TestFile_20270109.csv", "TestFile_20279999.csv"):
        imports.upload(f"{HEADER}\n", key)
    ended = imports.wait(imports.start({"validate_only": True}), "TestFile_20270110.csv")

    assert ended.output["file"] == "TestFile_20270110.csv"


def test_given_instance_is_used(imports: Imports) -> None:
    given = imports.instance or new_instance(imports.stack)
    persons = people(2)
    ended = imports.run(csv_file(persons), instance_id=given)

    assert ended.codes == ["", ""]
    assert all(f"instance/{given}/agent/" in result.user_arn for result in ended.results)
    assert {person.username for person in persons} <= set(imports.usernames(given))


def test_reset_deletes_only_the_stacks_own_instances(imports: Imports, simulator: RemoteControl) -> None:
    imports.run(csv_file(people(1)))
    before = {one["id"]: one["tags"] for one in simulator.instances()}
    ended = imports.run(csv_file(people(1)), reset=True)
    after = {one["id"] for one in simulator.instances()}

    assert ended.codes == [""]
    assert {instance for instance, tags in before.items() if STACK_TAG in tags}.isdisjoint(after)
    assert {instance for instance, tags in before.items() if STACK_TAG not in tags} <= after


def test_rows_that_could_not_run_have_a_result_and_run_again(
    imports: Imports, stack: Stack, resources: Resources
) -> None:
    persons = people(3)
    with no_concurrency(stack, resources, "UserCreate"):
        broken = imports.run(csv_file(persons))
    again = imports.run(csv_file(persons), key=broken.key, retry_of=broken.output["result_key"])

    assert broken.codes == ["Lambda.TooManyRequestsException"] * 3
    assert again.codes == [""] * 3


def test_stopped_import_has_a_result_file_and_can_be_retried(imports: Imports, simulator: RemoteControl) -> None:
    persons = people(12)
    simulator.delay("CreateUser", 0.5, times=12)
    key, _ = imports.upload(csv_file(persons))
    name = imports.start({"key": key})
    eventually(lambda: created(simulator) > 0, seconds=300)
    imports.stop(name)
    stopped = imports.wait(name, key)
    simulator.clear_faults()
    again = imports.run(csv_file(persons), key=key, retry_of=imports.result_of(key))

    assert stopped.status == "ABORTED"
    assert stopped.codes == ["NotRegistered"] * 12
    assert again.succeeded == [True] * 12
    assert created(simulator) == 12


def test_defect_is_reported_without_its_message(imports: Imports, stack: Stack, resources: Resources) -> None:
    persons = people(1)
    with environment(stack, resources, "UserCreate", RECORD_LIFETIME_DAYS="many"):
        ended = imports.run(csv_file(persons))

    assert ended.codes == ["UnexpectedFailure"]
