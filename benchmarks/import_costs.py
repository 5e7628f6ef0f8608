"""Consumption of an imported row, and the cost of a million rows, counted on a stack whose calls go through proxies."""

from collections.abc import Mapping
from dataclasses import dataclass

from stepwise.operations.orders import execution_arn

from .costs import entered, history, reports, wait_for_quiet
from .pricing import LOG_GB, MEMORY_GB, express_seconds
from .stacks import Metered

MILLION = 1_000_000
# Label for the costs of PRODUCT's other targets, which a type with only the target `data` does not have.
TARGETS = "targets"
_FUNCTIONS = ("CreateImport", "CsvLoader", "CsvRowsHandler", "FinalizeParentJob", "FollowImports", "SyncTargets")


@dataclass(frozen=True, slots=True)
class Consumed:
    """Consumption of one import.

    writes, reads: units by table. requests: to S3, by method and bucket; received: bytes read.
    """

    rows: int
    transitions: int
    invocations: Mapping[str, tuple[int, float]]
    writes: Mapping[str, float]
    reads: Mapping[str, float]
    requests: Mapping[tuple[str, str], int]
    received: int
    tables: Mapping[str, str]
    catalog: str

    def units(self, *tables: str) -> float:
        """Write units per row in these tables."""
        return sum(self.writes.get(self.tables[table], 0.0) for table in tables) / self.rows


def reset(on: Metered) -> None:
    """Reset the counters, once all is quiet."""
    wait_for_quiet(on.dynamodb)
    on.dynamodb.meter.reset()
    on.s3.reset()


def files_bucket(on: Metered) -> str:
    return on.stack.outputs["ImportsBucket"]


def invoked(on: Metered) -> dict[str, tuple[int, float]]:
    """Invocations so far and their total seconds, by function."""
    logs = on.stack.client("logs")
    found = {name: list(reports(logs, f"/aws/lambda/stepwise/{name}")) for name in _FUNCTIONS}
    return {name: (len(lines), sum(map(_seconds, lines))) for name, lines in found.items()}


def consumed(on: Metered, rows: int, before: Mapping[str, tuple[int, float]], import_id: str) -> Consumed:
    """Consumption since the last reset.

    before: invocations at the reset. import_id: in STEP_FUNCTION mode.
    """
    wait_for_quiet(on.dynamodb)
    after, outputs, meter = invoked(on), on.stack.outputs, on.dynamodb.meter
    invocations = {name: (after[name][0] - before[name][0], after[name][1] - before[name][1]) for name in after}
    names = ("CommandsTable", "GatesTable", "DataTable", "HistoryTable", "ProductsTable", "ImportsTable")
    events = history(on.stack, execution_arn(on.stack, import_id, output="ImportCsvArn"))
    return Consumed(
        rows,
        sum(1 for event in events if entered(event)),
        invocations,
        dict(meter.written),
        dict(meter.read),
        dict(on.s3.requests),
        on.s3.received[files_bucket(on)],
        {name: outputs[name] for name in (*names, "IdempotencyTable")},
        outputs["CatalogBucket"],
    )


def per_million(used: Consumed, prices: Mapping[str, float]) -> dict[str, float]:
    """Cost of a million rows of PRODUCT, itemized.

    Consumption of the loader and of finalization is scaled as well, so the result is an upper bound.
    """
    scale = MILLION / used.rows
    batches, seconds = used.invocations["CsvRowsHandler"]
    products = used.tables["ProductsTable"]
    targets = used.invocations["SyncTargets"]
    own = {name: value for name, value in used.invocations.items() if name != "SyncTargets"}
    puts, gets = (sum(n for (m, b), n in used.requests.items() if m in ms and b != used.catalog) for ms in _METHODS)
    catalog = [sum(n for (m, b), n in used.requests.items() if m in ms and b == used.catalog) for ms in _METHODS]
    write, read = prices["dynamodb_write_unit"], prices["dynamodb_read_unit"]
    items = {
        "Step Functions: states of the import": used.transitions * prices["state_transition"] / scale,
        "Step Functions: express requests": batches * prices["express_request"],
        "Step Functions: express time": batches * express_seconds(seconds / batches, prices),
        "Lambda: requests": sum(count for count, _ in own.values()) * prices["lambda_request"],
        "Lambda: time": sum(time for _, time in own.values()) * MEMORY_GB * prices["lambda_gb_second"],
        "S3: PUTs and GETs of files": puts * prices["s3_put"] + gets * prices["s3_get"],
        "logs": sum(count for count, _ in used.invocations.values()) * LOG_GB * prices["log_gb"],
        "DynamoDB: reads": (sum(used.reads.values()) - used.reads.get(products, 0.0)) * read,
        **{
            f"DynamoDB: writes of {name}": used.writes.get(table, 0.0) * write
            for name, table in used.tables.items()
            if table != products
        },
        f"{TARGETS}: DynamoDB": used.writes.get(products, 0.0) * write + used.reads.get(products, 0.0) * read,
        f"{TARGETS}: S3": catalog[0] * prices["s3_put"] + catalog[1] * prices["s3_get"],
        f"{TARGETS}: Lambda": targets[0] * prices["lambda_request"]
        + targets[1] * MEMORY_GB * prices["lambda_gb_second"],
    }
    return {name: cost * scale for name, cost in items.items()}


def child_starts(used: Consumed, prices: Mapping[str, float]) -> float:
    """Cost of starting a million rows' child executions if the starts were billed as transitions."""
    return used.invocations["CsvRowsHandler"][0] * prices["state_transition"] * MILLION / used.rows


# PUTs and GETs, as S3 bills them. HEAD is a GET; DELETE is free.
_METHODS = (("PUT", "POST"), ("GET", "HEAD"))


def _seconds(report: str) -> float:
    return float(report.split("Duration: ")[1].split(" ms")[0]) / 1000
