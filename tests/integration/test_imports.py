"""Imports on the running stack: both modes, refusals, retries, stops, uploads."""

import hashlib
import json
import uuid

import pytest

from stepwise.operations.stack import Row, Stack
from tests.kit.belongings import RUN
from tests.kit.deployed_commands import call
from tests.kit.deployed_imports import HEADER, ProductImports, counts, csv_text, product
from tests.kit.injection import Resources, eventually, no_concurrency

pytestmark = pytest.mark.local_only("publish versions, whose keys nothing may remove")


@pytest.fixture
def products(stack: Stack) -> ProductImports:
    """The imports of the test's own tenant."""
    return ProductImports(stack, f"{RUN[:30]}-{uuid.uuid4().hex[:8]}")


def error_of(row: Row) -> tuple[str, str]:
    return row["error"]["code"], row["error"]["column"]


def test_small_file_is_imported_directly(products: ProductImports) -> None:
    answer = products.create(key=products.upload(csv_text(map(product, range(1, 11)))), type="PRODUCT")
    row = products.row(answer["import_id"])

    assert answer == {"import_id": row["import_id"], "status": "COMPLETED", "processing_mode": "DIRECT"}
    assert counts(row) == (10, 10, 0, 0)
    assert (row["created_rows"], row["kind"], row["validated"]) == (10, "import", False)
    assert products.result(row["import_id"], "succeeded") == [
        {"row": str(number), "pk": f"TENANT#{products.tenant}", "sk": f"PRODUCT#p{number:06}", "version": "1"}
        for number in range(1, 11)
    ]
    assert (
        products.result_text(row["import_id"], "failed")
        == f"row,error_code,error_column,error_message,{','.join(HEADER)}\n"
    )
    data = products.data("p000003")
    assert data
    assert (data["name"], data["attributes"]["price"], data["mode"]) == ("Product 3", 3, "sync")


@pytest.mark.slow
def test_large_file_is_imported_in_batches(products: ProductImports) -> None:
    rows = [product(number, **({"price": "x"} if number % 100 == 50 else {})) for number in range(1, 1501)]
    answer = products.create(key=products.upload(csv_text(rows)), type="PRODUCT", options={"max_concurrency": 3})
    seen = set()

    def ended() -> bool:
        seen.add(int(products.row(answer["import_id"])["processed_rows"]))
        return products.row(answer["import_id"])["status"] == "COMPLETED_WITH_FAILURES"

    eventually(ended, seconds=500, every=0.1)

    assert answer["processing_mode"] == "STEP_FUNCTION"
    assert counts(products.row(answer["import_id"])) == (1500, 1485, 15, 0)
    assert len(seen) > 3  # Progress is shown while the import runs.
    failed = products.result(answer["import_id"], "failed")
    assert [int(row["row"]) for row in failed] == list(range(50, 1501, 100))
    assert len(products.result(answer["import_id"], "succeeded")) == 1485


@pytest.mark.parametrize("mode", ["DIRECT", "STEP_FUNCTION"])
def test_refused_file_is_an_answer_and_a_failed_import(products: ProductImports, mode: str) -> None:
    import_id = products.start("code,name,colour\n1,2,3\n", processing_mode=mode)

    row = products.ended(import_id)
    assert (row["status"], error_of(row)) == ("FAILED", ("MissingColumn", "category"))
    assert counts(row) == (0, 0, 0, 0)


def test_throttling_alone_leaves_no_row_unprocessed(
    products: ProductImports, stack: Stack, resources: Resources
) -> None:
    with no_concurrency(stack, resources, "CsvRowsHandler"):
        import_id = products.start(csv_text([product(1)]), processing_mode="STEP_FUNCTION")
        execution = f"{resources['ImportCsv'].replace(':stateMachine:', ':execution:')}:{import_id}"
        # The former limit of six tries would have been used up.
        eventually(lambda: throttled_tries(stack, execution) > 8, seconds=60)
    row = products.ended(import_id)

    assert (row["status"], counts(row)) == ("COMPLETED", (1, 1, 0, 0))


def throttled_tries(stack: Stack, execution: str) -> int:
    """Return the number of failed tries of an import's only batch."""
    states = stack.stepfunctions
    try:
        runs = states.list_map_runs(executionArn=execution)["mapRuns"]
    except states.exceptions.ExecutionDoesNotExist:
        return 0
    children = [one for run in runs for one in states.list_executions(mapRunArn=run["mapRunArn"])["executions"]]
    return sum(
        event["type"] == "TaskFailed"
        for child in children
        for event in states.get_execution_history(executionArn=child["executionArn"])["events"]
    )


def test_failed_rows_are_corrected_and_retried(products: ProductImports) -> None:
    first = products.start(csv_text([product(1), product(2, price="x"), product(3, name="=1+1", price="y")]))
    failed = products.result_text(first, "failed")
    corrected = products.upload(failed.replace(",x,", ",2,").replace(",y,", ",3,"))
    retry = products.ended(products.create(retry_of=first, key=corrected)["import_id"])

    assert (retry["status"], counts(retry), retry["retry_of"]) == ("COMPLETED", (2, 2, 0, 0), first)
    data = products.data("p000003")
    assert data
    assert (data["name"], data["version"]) == ("=1+1", 1)
    assert [row["row"] for row in products.result(retry["import_id"], "succeeded")] == ["2", "3"]


@pytest.mark.parametrize("name", ["products.csv", "PRODUCTS.CSV"])
def test_upload_is_imported_once_despite_duplicate_events(products: ProductImports, name: str) -> None:
    key = f"imports/{products.tenant}/PRODUCT/{name}"
    s3 = products.stack.client("s3")
    body = csv_text([product(1)]).encode()
    version = s3.put_object(Bucket=products.bucket, Key=key, Body=body)["VersionId"]
    import_id = hashlib.sha256(json.dumps([products.bucket, key, version]).encode()).hexdigest()[:32]
    eventually(lambda: products.find(import_id) is not None)
    products.ended(import_id)
    event = {"detail": {"bucket": {"name": products.bucket}, "object": {"key": key, "version-id": version}}}

    assert call(products.stack, "CreateImport", event) == {
        "import_id": import_id, "status": "COMPLETED", "processing_mode": "DIRECT"
    }  # fmt: skip
    data = products.data("p000001")
    assert data
    assert data["version"] == 1


@pytest.mark.parametrize("name", ["PRODUCT/products.txt", "PRODUCT/products.csv ", "products.csv", ""])
def test_unmatched_upload_is_kept_for_a_person(products: ProductImports, resources: Resources, name: str) -> None:
    key = products.upload(csv_text([product(1)]), f"imports/{products.tenant}/{name}")
    kept: list[str] = []

    def arrived() -> bool:
        received = products.stack.client("sqs").receive_message(
            QueueUrl=resources["ImportUploadFailuresQueue"], MaxNumberOfMessages=10
        )
        kept.extend(message["Body"] for message in received.get("Messages", []))
        return any(json.dumps(key) in body for body in kept)

    eventually(arrived, seconds=300)
    assert all("InvalidImport" in body for body in kept if json.dumps(key) in body)
