"""Gives function logs the template's format, `LogFormat: JSON`: one JSON object per line, with all its fields.

MiniStack's workers have Python's default: warnings and errors only, and only their messages. So no query of
docs/operations.md would find anything.
"""

from pathlib import Path
from typing import Any

_LOGS = Path(__file__).with_name("worker_logs.py")
_FIRST, _READY, _CALLED = (
    "import sys, json, importlib",
    "    _ms_install_invoke_depth()\n",
    '        event = _ms_msg["event"]\n',
)


def apply() -> None:
    """Patch the loaded MiniStack modules. Raises RuntimeError if the code to change is missing."""
    from ministack.core import lambda_runtime

    script = lambda_runtime._PYTHON_WORKER_SCRIPT
    if any(script.count(place) != 1 for place in (_FIRST, _READY, _CALLED)):
        raise RuntimeError("this MiniStack has another worker; check whether the patch is still needed")
    script = script.replace(_FIRST, f"{_LOGS.read_text()}\n{_FIRST}")
    script = script.replace(_READY, f"{_READY}    _log_as_json()\n")
    called = '        _log_of_request((_ms_msg.get("ctx") or {}).get("request_id", ""))\n'
    lambda_runtime._PYTHON_WORKER_SCRIPT = script.replace(_CALLED, f"{_CALLED}{called}")
    begin = lambda_runtime.Worker.__init__

    def with_its_format(worker: Any, name: str, config: dict[str, Any], code: bytes) -> None:
        begin(worker, name, {**config, "Environment": {"Variables": _variables(config)}}, code)

    lambda_runtime.Worker.__init__ = with_its_format


def _variables(config: dict[str, Any]) -> dict[str, str]:
    """Return the function's own variables, and those that Lambda derives from its LoggingConfig."""
    logging = config.get("LoggingConfig") or {}
    return {
        **config.get("Environment", {}).get("Variables", {}),
        "AWS_LAMBDA_LOG_FORMAT": logging.get("LogFormat", "Text"),
        "AWS_LAMBDA_LOG_LEVEL": logging.get("ApplicationLogLevel", ""),
    }
