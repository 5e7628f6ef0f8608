"""Lambda's log format `JSON`, as the managed runtime writes it. `json_logs.py` puts this before MiniStack's worker.

It imports nothing of this checkout, because a worker must see only deployed code.
"""

import json
import logging
import os
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

# Attributes of every log record; all others come from `extra`.
_USUAL = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})
_request: dict[str, str] = {}


def _log_of_request(request_id: str) -> None:
    """Attribute all lines from now on to this invocation."""
    _request["requestId"] = request_id


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "level": record.levelname,
            "message": record.getMessage(),
            "logger": record.name,
            **(_of_error(record) if record.exc_info and record.exc_info[0] else {}),
            **_request,
        }
        line |= {name: value for name, value in vars(record).items() if name not in _USUAL and name not in line}
        return json.dumps(line, ensure_ascii=False, default=str)


def _of_error(record: logging.LogRecord) -> dict[str, Any]:
    kind, error, frames = record.exc_info or (None, None, None)
    return {
        "stackTrace": traceback.format_tb(frames),
        "errorType": kind.__name__ if kind else "",
        "errorMessage": str(error),
        "location": f"{record.pathname}:{record.funcName}:{record.lineno}",
    }


def _log_as_json() -> None:
    """Log as JSON if the function is configured so; otherwise Python's own default stays."""
    if os.environ.get("AWS_LAMBDA_LOG_FORMAT") != "JSON":
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    logging.root.handlers[:] = [handler]
    logging.root.setLevel(os.environ.get("AWS_LAMBDA_LOG_LEVEL") or "INFO")
