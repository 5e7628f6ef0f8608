"""The operators' view of imports of rows, on the tables of a stack in this process."""

import io
import json
import os
import re
import shlex
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from botocore.config import Config
from botocore.exceptions import ReadTimeoutError

from imports.errors import InvalidImport, TooManyRows
from imports.requests import parse_create
from imports.state import Import, ImportKey
from stepwise.operations import import_results, imports
from stepwise.operations.import_results import ImportNotEnded, ResultsExist
from stepwise.operations.imports import AnswerLost, ImportEnded, ImportNotFound, ImportView
from stepwise.operations.stack import Stack
from tests.kit.command_line import stepwise
from tests.kit.import_world import TENANT, ImportWorld
from tests.unit import dynamodb

HEADER = "code,name,category,price,currency\n"
ROWS = 3001


class Desk:
    """A stack in this process, which is its own session and Lambda client, with answers and errors set by a test."""

    def __init__(self) -> None:
        self.world = ImportWorld(dynamodb.client())
        functions = {f"{name}FunctionArn": name for name in ("CreateImport", "StopImport")}
        outputs = {"ImportsTable": self.world.table_name, "ImportsBucket": self.world.bucket, **functions}
        session: Any = self
        self.stack = Stack(session, None, outputs)
        self.stack._clients.update({"dynamodb": self.world.client, "s3": self.world.files.client, "lambda": self})
        self.stack._clients["sts"] = self
        self.answer: Any = {}
        self.calls: list[Any] = []
        self.config = Config()

    def client(self, _: str, *, config: Config, **__: Any) -> "Desk":
        self.config = config
        return self

    def get_caller_identity(self) -> dict[str, str]:
        return {"Arn": "arn:aws:iam::000000000000:user/operator"}

    def invoke(self, *, FunctionName: str, Payload: str) -> dict[str, Any]:
        self.calls.append((FunctionName, json.loads(Payload)))
        if isinstance(self.answer, Exception):
            raise self.answer
        failed = {"FunctionError": "Unhandled"} if "errorType" in self.answer else {}
        return {**failed, "Payload": io.BytesIO(json.dumps(self.answer).encode())}

    def view(self, import_id: str) -> ImportView:
        return imports.view(self.stack, ImportKey(TENANT, import_id))


@pytest.fixture
def desk() -> Desk:
    return Desk()


def text(*prices: object) -> str:
    return HEADER + "".join(f"p{number},n,tea,{price},JPY\n" for number, price in enumerate(prices, start=1))


REQUEST = {"tenant_code": TENANT, "type": "PRODUCT", "key": "a.csv"}


def test_call_is_made_once_and_outlasts_the_function(desk: Desk) -> None:
    desk.answer = {"import_id": "0" * 32}

    assert imports.create(desk.stack, REQUEST) == ImportKey(TENANT, "0" * 32)
    settings: Any = desk.config
    assert (settings.retries["total_max_attempts"], settings.read_timeout) == (1, 130)


def test_call_with_a_lost_answer_is_not_repeated(desk: Desk) -> None:
    desk.answer = ReadTimeoutError(endpoint_url="")
    with pytest.raises(AnswerLost) as lost:
        imports.create(desk.stack, REQUEST)
    assert lost.value.see == ("imports", "list", ("--tenant", TENANT))
    assert desk.calls == [("CreateImport", REQUEST)]


@pytest.mark.parametrize(
    ("said", "changed"),
    [
        (("--encoding", "cp932"), {"encoding": "cp932"}),
        (("--encoding-confirmed",), {"encoding": "utf-8", "encoding_confirmed": True}),
    ],
)
def test_retry_with_another_encoding_keeps_the_other_options(
    desk: Desk, tmp_path: Path, said: tuple[str, ...], changed: dict[str, Any]
) -> None:
    earlier = {"duplicates": "last", "max_concurrency": 3}
    first = desk.world.run(text(1), options={**earlier, "encoding": "cp932", "encoding_confirmed": True})
    (tmp_path / "failed.csv").write_bytes("row,code,name\n1,p1,煎茶\n".encode("cp932"))
    desk.answer = {"import_id": "0" * 32}
    with mock.patch.object(Stack, "local", return_value=desk.stack):
        of = ("--of", f"{TENANT}/{first}", *said, "--no-follow")
        ended = stepwise("imports", "retry", str(tmp_path / "failed.csv"), *of)

    ((_, request),) = desk.calls
    assert (ended.code, request["retry_of"]) == (0, first)
    assert request["options"] == {**earlier, **changed}
    assert parse_create(request)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"validate_only": True, "processing_mode": "STEP_FUNCTION"},
        {"options": {"all_or_nothing_validation": True, "encoding": "cp932", "max_concurrency": 3}},
        {"options": {"duplicates": "last", "unknown_columns": "ignore", "parallel": 2, "encoding_confirmed": True}},
    ],
    ids=str,
)
def test_refused_file_is_suggested_with_its_options(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]
) -> None:
    refused = desk.world.create("code\np1\n", **fields)
    desk.world.load(refused)
    again = suggested(desk, refused, tmp_path, monkeypatch)

    assert again == {"tenant_code": TENANT, "type": "PRODUCT", "key": again["key"], **fields}


@pytest.mark.parametrize(
    "fields",
    [{}, {"validate_only": True}, {"options": {"all_or_nothing_validation": True, "encoding": "cp932"}}],
    ids=str,
)
def test_refused_corrected_file_is_retried(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any]
) -> None:
    first = desk.world.run(text("x"), options=fields.get("options"))
    refused = desk.world.create("code\np1\n", retry_of=first, **fields)
    again = suggested(desk, refused, tmp_path, monkeypatch)

    assert again == {"tenant_code": TENANT, "retry_of": refused, "key": again["key"], **fields}


def suggested(desk: Desk, import_id: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The request of the command that `show` suggests."""
    monkeypatch.chdir(folder)
    (folder / "a.csv").touch()
    desk.answer = {"import_id": "0" * 32}
    with mock.patch.object(Stack, "local", return_value=desk.stack):
        shown = stepwise("imports", "show", f"{TENANT}/{import_id}").out
        (command,) = re.findall(r"import it again: \S+ (.*)", shown)
        assert stepwise(*shlex.split(command), "--no-follow").code == 0
    ((_, request),) = desk.calls
    return request


def test_refused_file_is_suggested_by_its_path(desk: Desk, tmp_path: Path) -> None:
    desk.answer = {"import_id": desk.world.create("code\np1\n")}
    file = tmp_path / "a.csv"
    file.touch()
    with mock.patch.object(Stack, "local", return_value=desk.stack):
        ended = stepwise("imports", "create", str(file), "--tenant", TENANT, "--type", "PRODUCT")

    assert f"imports create {file} --tenant" in ended.out


@pytest.mark.parametrize("error", [InvalidImport, TooManyRows])
def test_refused_call_keeps_its_error(desk: Desk, error: type[Exception]) -> None:
    desk.answer = {"errorType": error.__name__, "errorMessage": "key: wrong"}
    with pytest.raises(error, match="key: wrong"):
        imports.create(desk.stack, REQUEST)


def test_file_with_another_extension_is_not_uploaded(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_text("")
    with pytest.raises(InvalidImport, match="file: the name must end in"):
        imports.upload(desk.stack, tmp_path / "a.xlsx")
    assert "Contents" not in desk.world.files.client.list_objects_v2(Bucket=desk.world.bucket)


@pytest.mark.parametrize(
    ("name", "field"), [("t1", "import"), ("t 1/" + "0" * 32, "tenant_code"), ("t1/x", "import_id")]
)
def test_invalid_name_names_its_field(name: str, field: str) -> None:
    with pytest.raises(InvalidImport, match=f"^{field}: "):
        imports.parse_key(name)


def test_imports_of_a_tenant_are_listed_without_reading_their_batches(desk: Desk) -> None:
    """At most a page of records of a large import is read."""
    large = desk.world.create(text(1), processing_mode="STEP_FUNCTION")
    key = ImportKey(TENANT, large)
    for first in range(1, ROWS, 100):
        desk.world.client.put_item(
            TableName=desk.world.table_name,
            Item={**{name: {"S": value} for name, value in key.batch(first).items()}, "kind": {"S": "batch"}},
        )
    child = {**desk.world.row(large), "import_id": f"{large}-0001", "sk": f"IMPORT#{large}-0001"}
    desk.world.table.create(Import(ImportKey(TENANT, f"{large}-0001"), child))
    small = desk.world.create(text(1), processing_mode="DIRECT")
    pages: list[int] = []
    desk.world.client.meta.events.register(
        "after-call.dynamodb.Query", lambda parsed, **_: pages.append(parsed["Count"])
    )
    found = imports.of_tenant(desk.stack, TENANT, 20)

    assert {made.key.import_id for made in found} == {large, small, f"{large}-0001"}
    assert sum(pages) <= 30
    assert len(imports.of_tenant(desk.stack, TENANT, 1)) == 1
    assert {made.key.import_id for made in imports.running(desk.stack)} == {large, f"{large}-0001"}


def test_reasons_are_counted_by_remedy(desk: Desk) -> None:
    import_id = desk.world.run(text(1, "x", "y", -1, *"z" * 5))
    number, bounds = import_results.reasons(desk.stack, desk.view(import_id))

    assert (number.code, number.column, number.rows, number.examples) == (
        "NotANumber",
        "price",
        7,
        ["2", "3", "5", "6", "7"],
    )
    assert (bounds.code, bounds.rows, bounds.examples) == ("OutOfRange", 1, ["4"])
    assert "Use digits only" in number.message


def test_results_are_saved_only_after_the_end(desk: Desk, tmp_path: Path) -> None:
    import_id = desk.world.create(text(1, "x"), processing_mode="STEP_FUNCTION")
    with pytest.raises(ImportNotEnded):
        import_results.save(desk.stack, desk.view(import_id), tmp_path)
    desk.world.load(import_id)
    desk.world.batch(import_id)
    desk.world.finish(import_id)
    saved = import_results.save(desk.stack, desk.view(import_id), tmp_path)

    assert {path.name for path in saved} == {"succeeded.csv", "failed.csv", "unprocessed.csv"}
    assert (tmp_path / "failed.csv").read_text() == desk.world.text(import_id, "failed")


def test_results_never_replace_edits_of_a_person(desk: Desk, tmp_path: Path) -> None:
    seen = desk.view(desk.world.run(text(1, "x")))
    import_results.save(desk.stack, seen, tmp_path)
    # The same content again changes nothing.
    import_results.save(desk.stack, seen, tmp_path)
    (tmp_path / "succeeded.csv").unlink()
    (tmp_path / "failed.csv").write_text("corrected")
    with pytest.raises(ResultsExist, match=r"failed\.csv would be replaced"):
        import_results.save(desk.stack, seen, tmp_path)
    with pytest.raises(ResultsExist):
        import_results.check_folder(tmp_path)

    assert (tmp_path / "failed.csv").read_text() == "corrected"
    assert {path.name for path in tmp_path.iterdir()} == {"failed.csv", "unprocessed.csv"}
    import_results.save(desk.stack, seen, tmp_path, force=True)
    assert (tmp_path / "failed.csv").read_text() != "corrected"


def test_file_may_have_any_name(desk: Desk, tmp_path: Path) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\x82\n\x1b.csv"))
    file.write_text("code")

    assert imports.upload(desk.stack, file).endswith("/caf___.csv")


def test_stop_names_the_caller_and_leaves_finished_imports_alone(desk: Desk) -> None:
    import_id = desk.world.create(text(1), processing_mode="STEP_FUNCTION")
    ended = desk.world.run(text(1))
    by = imports.stop(desk.stack, ImportKey(TENANT, import_id))

    assert desk.calls == [("StopImport", {"tenant_code": TENANT, "import_id": import_id, "by": by})]
    with pytest.raises(ImportEnded):
        imports.stop(desk.stack, ImportKey(TENANT, ended))
    with pytest.raises(ImportNotFound):
        imports.stop(desk.stack, ImportKey(TENANT, "0" * 32))


def test_running_zip_counts_like_its_children() -> None:
    def made(number: int, status: str, **counters: int) -> Import:
        return Import(ImportKey(TENANT, f"{'0' * 32}-{number:04}"), {"status": status, **counters})

    children = [made(1, "COMPLETED", total_rows=3), made(2, "PROCESSING", total_rows=4)]

    assert ImportView(made(0, "PROCESSING", total_rows=0), children).count("total_rows") == 7
    assert ImportView(made(0, "COMPLETED", total_rows=9), children).count("total_rows") == 9
