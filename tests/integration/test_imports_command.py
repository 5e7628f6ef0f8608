"""`stepwise imports` and `stepwise commands export` as a person runs them."""

import csv
import io
import re
import signal
import subprocess
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from runtime.csv_records import safe
from stepwise.local.emulator import emulator
from stepwise.operations.stack import Stack
from tests.kit.belongings import RUN
from tests.kit.bounded import program
from tests.kit.deployed_commands import Versions
from tests.kit.deployed_imports import ProductImports, counts, csv_text, product
from tests.kit.injection import eventually

pytestmark = pytest.mark.local_only("publish versions, whose keys nothing may remove")

type Ended = subprocess.CompletedProcess[str]
type CommandLine = Callable[..., Ended]

# STEP_FUNCTION mode takes minutes, batch by batch, so that a stop comes in time even on a busy machine.
SLOW_ROWS, SLOWLY = 10_000, ("--mode", "STEP_FUNCTION", "--max-concurrency", "1")


@pytest.fixture
def products(stack: Stack) -> ProductImports:
    return ProductImports(stack, f"{RUN[:30]}-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def stepwise(stack_options: list[str]) -> CommandLine:
    def call(*arguments: str) -> Ended:
        command = [str(emulator.ROOT / "stepwise"), *arguments, *stack_options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return call


def written(folder: Path, *rows: Mapping[str, str]) -> str:
    (folder / "products.csv").write_text(csv_text(rows))
    return str(folder / "products.csv")


def of(products: ProductImports) -> tuple[str, ...]:
    return ("--tenant", products.tenant, "--type", "PRODUCT")


def in_time(ask: Callable[[], Ended]) -> Ended:
    """The first response that is not a timeout, which a busy machine may cause. An operator would ask again."""
    answers: list[Ended] = []

    def answered() -> bool:
        answers.append(ask())
        return "Task timed out" not in answers[-1].stderr

    eventually(answered, seconds=300)
    return answers[-1]


def import_id(ended: Ended) -> str:
    found = re.search(r"/([0-9a-f]{32})\b", ended.stdout)
    assert found, ended.stdout + ended.stderr
    return found[1]


@pytest.mark.timeout(900)
def test_corrected_file_of_failed_rows_runs_again(
    stepwise: CommandLine, products: ProductImports, tmp_path: Path
) -> None:
    bad = [product(2, price="secret-price"), product(3, price="x"), product(4, name="")]
    created = stepwise("imports", "create", written(tmp_path, product(1), *bad), *of(products), "--save", str(tmp_path))
    name = f"{products.tenant}/{import_id(created)}"
    failed = (tmp_path / "failed.csv").read_text()
    (tmp_path / "failed.csv").write_text(failed.replace("secret-price", "5").replace(",x,", ",6,").replace(",,", ",N,"))
    retried = stepwise("imports", "retry", str(tmp_path / "failed.csv"), "--of", name)
    again = stepwise("imports", "retry", "--of", name)
    shown, listed = stepwise("imports", "show", name), stepwise("imports", "list", "--tenant", products.tenant)

    assert (created.returncode, retried.returncode, again.returncode) == (1, 0, 0), retried.stdout + retried.stderr
    for text in (created.stdout, shown.stdout):
        assert re.search(
            r"2 +│ The cell is not a whole number\. Use digits only\. +│ NotANumber +│ price +│ 2, 3", text
        )
        assert "secret-price" not in text
    assert f"imports retry {tmp_path}/failed.csv --of {name} --port" in created.stdout
    assert f"imports show {name} --save . --port" in shown.stdout
    assert f"imports retry failed.csv --of {name} --port" in shown.stdout
    assert counts(products.row(import_id(retried))) == (3, 3, 0, 0)
    assert [products.data(f"p{number:06}")["version"] for number in (1, 2, 3, 4)] == [1, 1, 1, 1]  # type: ignore[index]
    assert listed.stdout.count(products.tenant) == 4
    assert re.search(r"\bCOMPLETED\b", listed.stdout)


@pytest.mark.timeout(900)
def test_importing_an_exported_file_changes_nothing(
    stepwise: CommandLine, products: ProductImports, tmp_path: Path
) -> None:
    names = ["Sencha", "=1+1", 'a "quoted", one', "'-", "煎茶", " padded "]
    for number, name in enumerate(names):
        attributes: dict[str, Any] = {"category": "tea", "price": number, "currency": "JPY"}
        attributes |= {"available": False} if number % 2 else {"description": f"of {name}"}
        published(products, f"e{number}", name=name, attributes=attributes)
    published(products, "two#parts")
    published(products, "gone")
    published(products, "gone", version=2, deleted=True, attributes={})
    exported = stepwise("commands", "export", "PRODUCT", "--tenant", products.tenant)
    (tmp_path / "exported.csv").write_text(exported.stdout)
    checked = stepwise("imports", "create", str(tmp_path / "exported.csv"), *of(products), "--validate-only")
    row = products.row(import_id(checked))

    lines = list(csv.DictReader(io.StringIO(exported.stdout, newline="")))
    assert [line["name"] for line in lines] == [safe(name) for name in names]
    assert [line["formula_guard"] for line in lines] == ["true" if safe(name) != name else "" for name in names]
    assert f"Left out 1, which a file cannot hold, such as {products.tenant}/PRODUCT#two#parts" in exported.stderr
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert (row["validated"], counts(row)) == (True, (len(names), len(names), 0, 0))
    assert (row["unchanged_rows"], row["created_rows"], row["updated_rows"]) == (len(names), 0, 0)


def published(products: ProductImports, code: str, version: int = 1, **fields: Any) -> None:
    valid = {"attributes": {"category": "tea", "price": 1, "currency": "JPY"}, "mode": "sync"}
    Versions(products.stack, products.tenant, code, "PRODUCT").publish(version, **(valid | fields))


@pytest.mark.timeout(900)
def test_ctrl_c_says_how_to_resume_and_a_stopped_import_says_who_stopped_it(
    stepwise: CommandLine, products: ProductImports, stack_options: list[str], tmp_path: Path
) -> None:
    file = written(tmp_path, *map(product, range(SLOW_ROWS)))
    command = [str(emulator.ROOT / "stepwise"), "imports", "create", file, *of(products), *SLOWLY, *stack_options]
    with program(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as following:
        assert following.stdout
        assert following.stderr
        name = following.stdout.readline().removeprefix("Import ").strip()
        following.send_signal(signal.SIGINT)
        said = following.stderr.read()
        following.wait(timeout=300)
    running = stepwise("imports", "list").stdout
    early = stepwise("imports", "show", name, "--save", str(tmp_path))
    stopped = in_time(lambda: stepwise("imports", "stop", name, "--yes"))
    ended = stepwise("imports", "follow", name)
    twice = stepwise("imports", "stop", name, "--yes")
    row = products.row(name.partition("/")[2])

    assert following.returncode == 130
    assert f"/stepwise imports follow {name} {' '.join(stack_options)}\n" in said
    assert name in running
    assert (early.returncode, stopped.returncode, ended.returncode, twice.returncode) == (4, 0, 1, 4)
    assert early.stderr.startswith("ImportNotEnded: ")
    assert row["stopped_by"] in stopped.stdout
    assert re.search(rf"unprocessed\b.*\b{row['unprocessed_rows']:,}\b", ended.stdout, re.DOTALL)
    assert row["unprocessed_rows"] > 0
    assert twice.stderr.startswith("ImportEnded: ")
