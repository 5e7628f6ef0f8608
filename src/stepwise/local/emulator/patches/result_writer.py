"""The results of a Map Run's child executions, written by a ResultWriter to the state's output or to S3."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .child_executions import Child
from .redrives import redrive_fields

_FIELDS = ("Name", "Status", "StartDate", "StopDate", "ExecutionArn", "StateMachineArn", "Input", "Output")


def record(child: Child) -> dict[str, Any]:
    """Return a child as the files have it: its input, outcome and output."""
    own = child.execution
    included = {"Included": True}
    if own is None:
        return {"Input": child.given, "InputDetails": included, "Status": "PENDING"}
    found = {name: own.get(f"{name[0].lower()}{name[1:]}") for name in _FIELDS}
    redrives = redrive_fields(own)
    found |= {f"{name[0].upper()}{name[1:]}": value for name, value in redrives.items()}
    found |= {"InputDetails": included, "Error": own.get("error"), "Cause": own.get("cause")}
    if own["status"] == "SUCCEEDED":
        found["OutputDetails"] = included
    else:
        found["Output"] = None
    return {name: value for name, value in sorted(found.items()) if value is not None}


def results(children: Iterable[Child], transformation: str) -> list[Any]:
    """Return results in the children's order. Those of unsuccessful children are unchanged."""
    found: list[Any] = []
    for child in children:
        if child.phase != "succeeded" or child.execution is None or transformation == "NONE":
            found.append(record(child))
            continue
        output = json.loads(child.execution["output"])
        flatten = transformation == "FLATTEN" and isinstance(output, list)
        found.extend(output if flatten else [output])
    return found


@dataclass
class Export:
    """The files of a Map Run in S3. base: their location; a redrive adds files and keeps the earlier ones."""

    bucket: str
    base: str
    config: dict[str, Any]
    run: str

    def __post_init__(self) -> None:
        self._files: dict[str, list[dict[str, Any]]] = {"FAILED": [], "PENDING": [], "SUCCEEDED": []}

    def write(self, children: Sequence[Child], redrive: int) -> dict[str, str]:
        """Write the files. Returns the manifest's location. Raises States.ResultWriterFailed."""
        folder = f"{self.base}/Redrive-{redrive}" if redrive else self.base
        for status, listed in self._files.items():
            mine = [child for child in children if _status(child) == status]
            if mine:
                key, body = f"{folder}/{status}_0.json", self._text(mine)
                self._put(key, body)
                listed.append({"Key": key, "Size": len(body)})
        manifest = {"DestinationBucket": self.bucket, "MapRunArn": self.run, "ResultFiles": self._files}
        self._put(f"{folder}/manifest.json", json.dumps(manifest).encode())
        return {"Bucket": self.bucket, "Key": f"{folder}/manifest.json"}

    def _text(self, children: Sequence[Child]) -> bytes:
        found = results(children, self.config.get("Transformation", "NONE"))
        if self.config.get("OutputType") == "JSONL":
            return "".join(f"{json.dumps(one)}\n" for one in found).encode()
        return json.dumps(found).encode()

    def _put(self, key: str, body: bytes) -> None:
        from ministack.services import s3, stepfunctions

        status = s3._put_object(self.bucket, key, body, {})[0]
        if status != 200:
            cause = f"The results cannot be written. (Bucket: {self.bucket}, Key: {key})"
            raise stepfunctions._ExecutionError("States.ResultWriterFailed", cause)


def _status(child: Child) -> str:
    if child.phase == "succeeded":
        return "SUCCEEDED"
    return "PENDING" if child.execution is None else "FAILED"
