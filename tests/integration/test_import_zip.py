"""ZIPs on the running stack: children, refusals, stops, and tokens that are answered twice."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from stepwise.operations.stack import Stack
from tests.kit.belongings import RUN
from tests.kit.deployed_commands import call
from tests.kit.deployed_zips import Zip
from tests.kit.injection import Resources, eventually, through_proxy
from tests.kit.zip_builder import File, archive

pytestmark = pytest.mark.local_only("publish versions, whose keys nothing may remove")

HEADER = "code,name,category,price,currency\n"


def csv(*codes: str, price: object = 100) -> bytes:
    return (HEADER + "".join(f"{code},Tea,tea,{price},JPY\n" for code in codes)).encode()


def codes(count: int) -> list[str]:
    return [f"p-{uuid.uuid4().hex}" for _ in range(count)]


def sweep(stack: Stack) -> dict[str, int]:
    found: dict[str, int] = call(stack, "SweepZips", {})
    return found


@contextmanager
def held(stack: Stack, resources: Resources) -> Iterator[None]:
    """Hold the rows of every child for the length of the block."""
    with through_proxy(stack, resources, "CsvRowsHandler") as proxy:
        proxy.held.clear()
        try:
            yield
        finally:
            proxy.held.set()


def test_zip_of_three_files_where_one_fails_partly(stack: Stack) -> None:
    first, second, third = codes(3), codes(2), codes(2)
    bad = csv(*second) + csv("p-bad", price="dear").partition(b"\n")[2]
    made = Zip.of(
        stack,
        RUN,
        archive(
            File("PRODUCT_1.csv", csv(*first)),
            File("商品.csv".encode("cp932"), bad),
            File("a/PRODUCT.csv", csv(*third)),
        ),
        options={"parallel": 2},
    )
    row = made.ends()

    assert (row["status"], row["total_rows"], row["succeeded_rows"], row["failed_rows"]) == (
        *("COMPLETED_WITH_FAILURES", 8, 7),
        1,
    )
    assert made.children == [f"{made.import_id}-{number:04}" for number in (1, 2, 3)]
    assert [made.child(number)["status"] for number in (1, 2, 3)] == [
        *("COMPLETED", "COMPLETED_WITH_FAILURES"),
        "COMPLETED",
    ]
    assert made.child(2)["entry"] == "商品.csv"
    assert made.child(2)["results"]["failed"].startswith(f"results/{RUN}/{made.import_id}-0002/")
    for code in first + second + third:
        assert stack.row("DataTable", pk=f"TENANT#{RUN}", sk=f"PRODUCT#{code}")
    eventually(lambda: made.execution["status"] == "SUCCEEDED")
    eventually(lambda: not any("tokens" in made.child(number) for number in (1, 2, 3)))
    assert "商品" not in made.history
    assert "taskToken" not in made.execution["output"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (archive(File(b"a.csv", csv("p-1")), File(b"../b.csv", csv("p-2"))), "UnsafeName"),
        (
            archive(File(b"a.csv", csv("p-1")), File(b"b.csv", csv("p-2"), local={"crc": 7}, central={"crc": 7})),
            "WrongCrc",
        ),
    ],
    ids=["hostile", "a lie that inflating finds"],
)
def test_refused_archive_starts_nothing_and_leaves_nothing(stack: Stack, data: bytes, code: str) -> None:
    made = Zip.of(stack, RUN, data)
    row = made.ends()

    assert (row["status"], row["error"]["code"], row["total_rows"]) == ("FAILED", code, 0)
    assert (made.children, made.objects) == ([], [])
    eventually(lambda: made.execution["status"] != "RUNNING")


def test_stopped_child_ends_its_zip(stack: Stack, resources: Resources) -> None:
    with held(stack, resources):
        made = Zip.of(stack, RUN, archive(File(b"a.csv", csv(*codes(1))), File(b"b.csv", csv(*codes(1)))))
        made.waits_for(1)
        made.waits_for(2)
        stopped = {"tenant_code": RUN, "import_id": f"{made.import_id}-0001", "by": "operator"}
        call(stack, "StopImport", stopped)
    row = made.ends()

    assert made.child(1)["stopped_by"] == "operator"
    assert made.child(2)["status"] == "COMPLETED"
    assert row["status"] == ("COMPLETED" if made.child(1)["status"] == "COMPLETED" else "COMPLETED_WITH_FAILURES")
    assert row["total_rows"] == row["succeeded_rows"] + row["failed_rows"] + row["unprocessed_rows"]
    assert made.execution["status"] in {"RUNNING", "SUCCEEDED"}


def test_stopping_a_zip_stops_its_children(stack: Stack, resources: Resources) -> None:
    with held(stack, resources):
        made = Zip.of(stack, RUN, archive(File(b"a.csv", csv(*codes(1)))))
        made.waits_for(1)
        call(stack, "StopImport", {"tenant_code": RUN, "import_id": made.import_id, "by": "operator"})
        eventually(lambda: made.child(1).get("stopped_by") == "operator")
    made.child_ends(1)
    sweep(stack)

    assert made.ends()["status"] in {"COMPLETED", "FAILED"}
