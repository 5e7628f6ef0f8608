"""A file that looks like another encoding is refused before any of its rows is stored."""

import io
import zipfile
from typing import Any

import pytest

from tests.kit.import_world import ImportWorld
from tests.unit.imports.zip_world import World as ZipWorld

HEADER = "code,name,category,price,currency\n"


def text(*names: str, encoding: str = "utf-8", header: str = HEADER) -> bytes:
    rows = (f"p{number},{name},tea,1,JPY\n" for number, name in enumerate(names, start=1))
    return header.encode(encoding) + "".join(rows).encode(encoding)


def imported(world: ImportWorld, content: bytes, mode: str, **fields: Any) -> str:
    if mode == "STEP_FUNCTION":
        return world.run(content, **fields)
    return world.create(content, processing_mode=mode, **fields)


both_modes = pytest.mark.parametrize("mode", ["DIRECT", "STEP_FUNCTION"])


@both_modes
@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (text("ﾃｱ", "ﾂｱ", encoding="cp932"), {}, "Row 1 may be UTF-8, or half-width katakana in cp932"),
        (text("tea", "緑茶", encoding="cp932"), {}, "Row 2 is not UTF-8; the file looks like cp932"),
        (text("緑茶", "山田"), {"encoding": "cp932"}, "Row 1 is not cp932; the file looks like UTF-8"),
        (
            text("x", header="商品," + HEADER, encoding="euc_jp"),
            {},
            "The header is not UTF-8; the file looks like EUC-JP",
        ),
        (text(*["x" * 100] * 900, "Müller", encoding="cp1252"), {}, "Row 901 is not UTF-8; the file looks like cp1252"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_file_in_another_encoding_is_rejected_entirely(
    world: ImportWorld, mode: str, content: bytes, options: dict[str, Any], message: str
) -> None:
    refused = imported(world, content, mode, options=options)
    row = world.row(refused)

    assert (row["status"], row["error"]["code"], row["error"]["column"]) == ("FAILED", "WrongEncoding", "")
    assert row["error"]["message"].startswith(message)
    assert world.versions() == {}


@both_modes
def test_confirmed_encoding_is_read_row_by_row(world: ImportWorld, mode: str) -> None:
    content = text("ñ", "±") + "p3,緑茶,tea,1,JPY\n".encode("cp932")
    confirmed = imported(world, content, mode, options={"encoding_confirmed": True})

    assert world.versions() == {"p1": 1, "p2": 1}
    assert [row[:2] for row in world.result(confirmed, "failed")] == [["3", "NotUtf8"]]


@both_modes
def test_half_width_katakana_are_read_as_cp932(world: ImportWorld, mode: str) -> None:
    done = imported(world, text("ﾃｱ", "ﾔﾏﾀﾞ ﾀﾛｳ", "ABCｼｮｳｼﾞ", encoding="cp932"), mode, options={"encoding": "cp932"})

    assert world.row(done)["status"] == "COMPLETED"


def test_result_of_a_cp932_import_is_retried_in_utf_8(world: ImportWorld) -> None:
    """failed.csv is in UTF-8. As cp932 its names would change; nobody has confirmed its encoding."""
    content = text("緑茶", "煎茶", encoding="cp932").replace(b"tea,1", b"tea,x")
    options = {"encoding": "cp932", "encoding_confirmed": True}
    first = imported(world, content, "DIRECT", options=options)
    failed = world.text(first, "failed").replace("tea,x", "tea,1").encode()
    refused = imported(world, failed, "DIRECT", retry_of=first, options={"encoding": "cp932"})
    retried = imported(world, failed, "DIRECT", retry_of=refused)
    again = world.create(retry_of=first, validate_only=True)

    assert world.row(refused)["error"]["code"] == "WrongEncoding"
    assert world.row(retried)["status"] == "COMPLETED"
    assert world.row(retried)["options"] == {}
    assert world.row(again)["options"] == options


def test_loaded_import_finishes_whatever_its_file_looks_like(world: ImportWorld) -> None:
    """An earlier release has accepted it: finalization reads it again, and must not refuse it."""
    accepted = world.create(text("ñ", "±"), processing_mode="STEP_FUNCTION", options={"encoding_confirmed": True})
    world.load(accepted)
    world.table.client.update_item(
        TableName=world.table_name,
        Key={name: {"S": value} for name, value in world.made(accepted).key.row.items()},
        UpdateExpression="SET #options = :none",
        ExpressionAttributeNames={"#options": "options"},
        ExpressionAttributeValues={":none": {"M": {}}},
    )

    assert world.load(accepted)["status"] == "PROCESSING"
    world.batch(accepted)
    assert world.finish(accepted) == "COMPLETED"


def test_entries_of_a_zip_inherit_the_confirmation() -> None:
    world = ZipWorld()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("PRODUCT.csv", text("ñ"))
    key = world.upload(archive.getvalue(), options={"encoding_confirmed": True})
    world.unzip(key)
    child = world.found(world.trigger(key, 1))

    assert child.options.encoding_confirmed


@pytest.mark.parametrize("before", [0, 7, 8 * 1024 - 40, 300_000])
def test_marker_in_the_last_row_is_found_across_chunks(world: ImportWorld, before: int) -> None:
    """Rows of ASCII, then one of cp932, wherever the chunks of the download end."""
    filler = [f"{'x' * 50}{number}" for number in range(before // 70)]
    content = text(*filler, "緑茶", encoding="cp932")
    refused = world.run(content)

    assert f"Row {len(filler) + 1} is not UTF-8; the file looks like cp932" in world.row(refused)["error"]["message"]
