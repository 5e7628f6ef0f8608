"""The dataset of a Distributed Map state, as its ItemReader reads it from S3.

A file of comma-separated values may have a BOM, a delimiter, ragged and blank rows. An inventory's manifest lists its
files, which are compressed. An empty or unreadable dataset is `States.ItemReaderFailed`.
"""

import csv
import gzip
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .groups import iterated, number

type Item = Any

# A child's field may be longer than Python's default limit, which holds for the whole process.
_MAX_FIELD_CHARACTERS = 256 * 1024
_reading = threading.Lock()
_DELIMITERS = {"COMMA": ",", "PIPE": "|", "SEMICOLON": ";", "SPACE": " ", "TAB": "\t"}


def read(reader: dict[str, Any], given: Any, data: Any, context: Any) -> list[Item]:
    """Read the items. Raises States.ItemReaderFailed."""
    parameters, config = arguments(reader, given, data, context), reader.get("ReaderConfig") or {}
    try:
        if reader["Resource"].endswith(":s3:listObjectsV2"):
            found = list(_listed(parameters, config, context))
        else:
            with _long_fields():
                found = list(_dataset(parameters, config))
    except (ValueError, LookupError, TypeError, OSError, csv.Error) as error:
        raise _failed(f"The dataset could not be read: {error}") from error
    limit = number(config, "MaxItems", given, data, context)
    if not found:
        raise _failed("The dataset has no items")
    return found[: int(limit)] if limit else found


@contextmanager
def _long_fields() -> Iterator[None]:
    with _reading:
        limit = csv.field_size_limit(_MAX_FIELD_CHARACTERS)
        try:
            yield
        finally:
            csv.field_size_limit(limit)


def arguments(fields: dict[str, Any], given: Any, data: Any, context: Any) -> dict[str, Any]:
    """Return the Parameters, or with JSONata the Arguments, of a reader or writer."""
    from ministack.services import stepfunctions as sf

    if "Arguments" in fields:
        resolved: dict[str, Any] = sf._apply_jsonata_template(fields["Arguments"], given, context)
    else:
        resolved = sf._resolve_params_obj(fields.get("Parameters") or {}, data, context)
    return resolved


def _failed(cause: str) -> Exception:
    from ministack.services import stepfunctions

    error: Exception = stepfunctions._ExecutionError("States.ItemReaderFailed", cause)
    return error


def _object(bucket: str, key: str, version: str | None = None) -> bytes:
    from ministack.services import s3

    query = {"versionId": [version]} if version else {}
    status, _, body = s3._get_object(bucket, key, {}, query)
    if status != 200:
        raise _failed(f"The object cannot be read. (Bucket: {bucket}, Key: {key}, Version: {version})")
    return body if isinstance(body, bytes) else bytes(body)


def _listed(parameters: dict[str, Any], config: dict[str, Any], context: Any) -> Iterator[Item]:
    from ministack.services import stepfunctions

    reader = {"Resource": ":s3:listObjectsV2", "Parameters": parameters}
    for listed in stepfunctions._read_map_items(reader, {}, context):
        if config.get("Transformation") == "LOAD_AND_FLATTEN":
            yield from _items(_object(parameters["Bucket"], listed["Key"]), config)
        else:
            yield listed


def _dataset(parameters: dict[str, Any], config: dict[str, Any]) -> Iterator[Item]:
    body = _object(parameters["Bucket"], parameters["Key"], parameters.get("VersionId"))
    if config.get("ManifestType") == "ATHENA_DATA":
        for line in body.decode().split():
            bucket, _, key = line.removeprefix("s3://").partition("/")
            yield from _items(_object(bucket, key), config)
    elif config.get("InputType") == "MANIFEST":
        yield from _inventory(json.loads(body))
    else:
        yield from _items(body, config)


def _inventory(manifest: dict[str, Any]) -> Iterator[Item]:
    if manifest["fileFormat"] != "CSV":
        raise ValueError(f"An inventory must be of type CSV, not {manifest['fileFormat']}")
    header = [name.strip() for name in manifest["fileSchema"].split(",")]
    bucket = manifest["destinationBucket"].rpartition(":")[2]
    for file in manifest["files"]:
        text = gzip.decompress(_object(bucket, file["key"])).decode()
        yield from _rows(text, {"CSVHeaderLocation": "GIVEN", "CSVHeaders": header})


def _items(body: bytes, config: dict[str, Any]) -> Iterator[Item]:
    kind, text = config.get("InputType", "JSON"), body.decode("utf-8-sig")
    if kind == "CSV":
        yield from _rows(text, config)
    elif kind == "JSONL":
        yield from (json.loads(line) for line in text.split("\n") if line.strip())
    elif kind == "JSON":
        yield from _array(json.loads(text), config.get("ItemsPointer", ""))
    else:
        raise ValueError(f"InputType {kind} is not supported here")


def _rows(text: str, config: dict[str, Any]) -> Iterator[dict[str, str]]:
    delimiter = _DELIMITERS[config.get("CSVDelimiter", "COMMA")]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, escapechar="\\")
    header = config["CSVHeaders"] if config["CSVHeaderLocation"] == "GIVEN" else next(rows, [])
    for row in rows:
        missing = [""] * (len(header) - len(row))
        yield dict(zip(header, row + missing, strict=False))


def _array(found: Any, pointer: str) -> list[Item]:
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        found = found[int(name)] if isinstance(found, list) else found[name]
    return iterated(found)
