"""Time, memory and reads of the loader and of finalize_parent_job alone, each in its own process.

`python -m benchmarks.import_memory ENDPOINT BUCKET TABLE IMPORT_ID load|finish` is such a process.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import batched
from pathlib import Path
from typing import Any, cast

import boto3

from entities.registered import TYPES
from idempotency import RoundStore
from idempotency.codec import to_value
from imports.creation import Creation, Direct
from imports.files import Files
from imports.finalizing import Finalization
from imports.requests import CreateRequest, Job
from imports.state import BATCH_ROWS, CREATED, BatchRecord, ImportKey, Outcome
from imports.table import ImportsTable

from .import_files import HEADER, TENANT, lines

BUCKET, TABLE = "bench-imports", "bench-imports"
STAGES = ("load", "finish")
# One row in this many failed, and is read again for its cells.
FAILED = 100
_AT_ONCE = 25

type Figures = dict[str, float]


def measured(endpoint: str, rows: int, say: Callable[[str], None]) -> Iterator[tuple[str, Figures]]:
    """Figures of both stages: file, peak and baseline memory, in MB; seconds; bytes read as multiples of the file.

    Uses a bucket and a table that no function of the stack reads.
    """
    say(f"writing a file of {rows:,} rows")
    data = (HEADER + "".join(lines(rows))).encode()
    finalization = _finalization(endpoint, BUCKET, TABLE)
    _create_bucket_and_table(finalization)
    finalization.files.put("rows.csv", data)
    never: Any = None
    creation = Creation(finalization.table, finalization.files, Direct(never, finalization), timedelta(days=90))
    request = CreateRequest(tenant_code=TENANT, key="rows.csv", type="PRODUCT", processing_mode="STEP_FUNCTION")
    import_id = creation.create(request, "bench", datetime.now(UTC), lambda: True)["import_id"]
    for stage in STAGES:
        if stage == "finish":
            say(f"writing the records of {rows // BATCH_ROWS:,} batches")
            _write_records(finalization, ImportKey(TENANT, import_id), rows)
        say(f"{stage}: running alone")
        command = [sys.executable, "-m", "benchmarks.import_memory", endpoint, BUCKET, TABLE, import_id, stage]
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        figures: Figures = json.loads(answer)
        yield stage, {"file": len(data) / 1e6, **figures, "read": figures["read"] / len(data)}


def _run(endpoint: str, bucket: str, table: str, import_id: str, stage: str) -> None:
    finalization, received = _finalization(endpoint, bucket, table), [0]

    def count(model: Any, parsed: Any, **_: Any) -> None:
        received[0] += parsed["ContentLength"] if model.name == "GetObject" else 0

    finalization.files.client.meta.events.register("after-call.s3", count)
    job = Job(tenant_code=TENANT, import_id=import_id)
    finalization.table.find(job.key)
    before, began = _peak(), time.perf_counter()
    if stage == "load":
        finalization.load(job, datetime.now(UTC), most=1)
    else:
        finalization.finish(finalization.table.known(job.key), datetime.now(UTC))
    seconds = time.perf_counter() - began
    sys.stdout.write(json.dumps({"peak": _peak(), "before": before, "seconds": seconds, "read": received[0]}))


def _finalization(endpoint: str, bucket: str, table: str) -> Finalization:
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    s3, dynamodb = (session.client(cast(Any, name), endpoint_url=endpoint) for name in ("s3", "dynamodb"))
    return Finalization(ImportsTable(dynamodb, table), Files(s3, bucket), TYPES, RoundStore(dynamodb, table))


def _create_bucket_and_table(finalization: Finalization) -> None:
    s3 = finalization.files.client
    s3.create_bucket(Bucket=BUCKET)
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    keys = {"pk": "HASH", "sk": "RANGE"}
    finalization.table.client.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in keys],
        KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys.items()],
    )


def _write_records(finalization: Finalization, key: ImportKey, rows: int) -> None:
    """Write a record of every batch, as if the Map state had run."""
    client, at = finalization.table.client, datetime.now(UTC).isoformat()
    for records in batched(_records(rows), _AT_ONCE, strict=False):
        items = [{**key.batch(one.first_row), **one.values, "created_at": at} for one in records]
        puts = [
            {"PutRequest": {"Item": {name: to_value(value, fractions=True) for name, value in item.items()}}}
            for item in items
        ]
        client.batch_write_item(RequestItems={TABLE: puts})


def _records(rows: int) -> Iterator[BatchRecord]:
    offset = len(HEADER)
    for own in batched(enumerate(lines(rows), start=1), BATCH_ROWS, strict=False):
        outcomes = []
        for number, line in own:
            length = len(line) - 1
            sk = f"PRODUCT#{line.partition(',')[0]}"
            failed = Outcome(number, code="NotANumber", column="price", offset=offset, length=length)
            outcomes.append(failed if number % FAILED == 0 else Outcome(number, sk, 1, CREATED))
            offset += length + 1
        yield BatchRecord(own[0][0], len(outcomes), outcomes)


def _peak() -> float:
    """Peak memory in MB. `getrusage` would report the parent's peak if that was larger when the program began."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024 / 1e6


if __name__ == "__main__":
    _run(*sys.argv[1:])
