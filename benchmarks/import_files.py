"""Product files for the import benchmarks."""

import io
import zipfile
from collections.abc import Iterator

HEADER = "code,name,category,price,currency\n"
CATEGORIES = 20
TENANT = "bench"


def lines(rows: int, prefix: str = "p") -> Iterator[str]:
    """Yield the rows of a file, each with a different product."""
    for number in range(1, rows + 1):
        yield f"{prefix}-{number:07},Product number {number:07},category-{number % CATEGORIES},{number},JPY\n"


def csv_file(rows: int, prefix: str = "p") -> bytes:
    return (HEADER + "".join(lines(rows, prefix))).encode()


def zip_file(files: int, rows: int) -> bytes:
    """Build a ZIP with this many files, each with this many rows."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for number in range(1, files + 1):
            written.writestr(f"PRODUCT_{number:04}.csv", csv_file(rows, f"z{number}"))
    return archive.getvalue()
