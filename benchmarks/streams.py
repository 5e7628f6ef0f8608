"""Records per second through the emulator's stream mappings: `python -m benchmarks.streams`. Prints a table.

Several functions read the stream of one table concurrently, each from its beginning.
"""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepwise.cli import views
from stepwise.local.emulator import emulator
from tests.kit.ministack import Account, Function

from .results import show, size

RECORDS, BATCH, KEYS = size(2_000, 100), 10, 50
_SLOW_SECONDS, _EVERY = 0.05, 100
_WANTED = '{"dynamodb": {"NewImage": {"wanted": {"BOOL": [true]}}}}'
_COUNT = """
import time

def handler(event, context):
    time.sleep({seconds})
    with open("{notes}", "a") as notes:
        notes.write("x" * len(event["Records"]))
"""


@dataclass(frozen=True)
class Reader:
    """A function that reads the stream. seconds: per batch. settings: those of its event source mapping."""

    name: str
    seconds: float
    records: int
    settings: dict[str, Any]


_READERS = (
    Reader("all, slow function", _SLOW_SECONDS, RECORDS, {}),
    Reader("all, slow function, four lanes", _SLOW_SECONDS, RECORDS, {"ParallelizationFactor": 4}),
    Reader("all, quick function", 0, RECORDS, {}),
    Reader(
        f"one in {_EVERY} by a filter", 0, RECORDS // _EVERY, {"FilterCriteria": {"Filters": [{"Pattern": _WANTED}]}}
    ),
)


def main() -> None:
    with emulator.attached() as running, tempfile.TemporaryDirectory() as folder:
        account = Account(running.endpoint)
        stream = _written(account)
        notes = [Path(folder, str(number)) for number in range(len(_READERS))]
        functions = [_function(account, reader, note) for reader, note in zip(_READERS, notes, strict=True)]
        began = time.perf_counter()
        for reader, function in zip(_READERS, functions, strict=True):
            _map(function, stream, reader)
        seconds = _ended(notes, began)
    rows = [[one.name, f"{seconds[at]:.1f} s", f"{RECORDS / seconds[at]:.0f}"] for at, one in enumerate(_READERS)]
    columns = ["reader", "took", "records a second"]
    show("benchmarks.streams", views.table(f"{RECORDS:,} records, all readers at once", columns, rows))


def _written(account: Account) -> str:
    """Create a table and write the records. Returns the ARN of its stream."""
    client = account.client("dynamodb")
    table = client.create_table(
        TableName="records",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )["TableDescription"]
    for start in range(0, RECORDS, 25):
        puts = [{"PutRequest": {"Item": _item(number)}} for number in range(start, start + 25)]
        client.batch_write_item(RequestItems={"records": puts})
    return str(table["LatestStreamArn"])


def _item(number: int) -> dict[str, Any]:
    wanted = number % _EVERY == _EVERY - 1
    return {"pk": {"S": f"{number % KEYS}"}, "sk": {"S": f"{number}"}, "wanted": {"BOOL": wanted}}


def _function(account: Account, reader: Reader, notes: Path) -> Function:
    """Deploy a function with a running worker."""
    function = account.function(_COUNT.format(seconds=reader.seconds, notes=notes))
    function.call({"Records": []})
    return function


def _map(function: Function, stream: str, reader: Reader) -> None:
    function.account.client("lambda").create_event_source_mapping(
        EventSourceArn=stream,
        FunctionName=function.name,
        StartingPosition="TRIM_HORIZON",
        BatchSize=BATCH,
        **reader.settings,
    )


def _ended(notes: list[Path], began: float) -> list[float]:
    """Seconds until each reader had all its records."""
    ended: dict[int, float] = {}
    while len(ended) < len(notes):
        for at, note in enumerate(notes):
            if at not in ended and note.stat().st_size >= _READERS[at].records:
                ended[at] = time.perf_counter() - began
        time.sleep(0.02)
    return [ended[at] for at in range(len(notes))]


if __name__ == "__main__":
    main()
