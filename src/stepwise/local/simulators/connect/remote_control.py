"""Client for the control paths of a running simulator, for tests, benchmarks and demonstrations."""

import json
import urllib.request
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode

from .control import PATH

type Document = dict[str, Any]


class RemoteControl:
    """endpoint: of the simulator, as in AWS_ENDPOINT_URL_CONNECT. Raises ValueError for an invalid request."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def settings(self) -> Document:
        """All times and limits, as fields of `settings.Settings`."""
        return dict(self._call("GET", "settings"))

    def change(self, **settings: float) -> Document:
        """Change some times and limits. An existing instance keeps its times."""
        return dict(self._call("PATCH", "settings", settings))

    def fail(self, operation: str, code: str, **fault: Any) -> None:
        """Answer the next calls of an operation with an error. fault: more fields of `faults.Fault`, here and below."""
        self.inject(operation, code=code, **fault)

    def delay(self, operation: str, seconds: float, **fault: Any) -> None:
        """Delay the next calls of an operation."""
        self.inject(operation, delay_seconds=seconds, **fault)

    def lose_answer(self, operation: str, **fault: Any) -> None:
        """Execute the next calls of an operation, then close the connection without an answer."""
        self.inject(operation, lose="answer", **fault)

    def lose_request(self, operation: str, **fault: Any) -> None:
        """Close the connection of the next calls of an operation without an effect."""
        self.inject(operation, lose="request", **fault)

    def fail_creation(self, **fault: Any) -> None:
        """Let the next created instance become CREATION_FAILED."""
        self.inject("CreateInstance", creation_fails=True, **fault)

    def inject(self, operation: str, **fault: Any) -> None:
        """Inject any fault, by the fields of `faults.Fault`."""
        self._call("POST", "faults", {"operation": operation, **fault})

    def faults(self) -> list[Document]:
        """The pending faults."""
        return list(self._call("GET", "faults"))

    def clear_faults(self) -> None:
        self._call("DELETE", "faults")

    def requests(self, operation: str | None = None) -> list[Document]:
        """Every request so far, in the order of arrival, as fields of `journal.Entry`."""
        query = f"?{urlencode({'operation': operation})}" if operation else ""
        return list(self._call("GET", f"requests{query}"))

    def clear_requests(self) -> None:
        self._call("DELETE", "requests")

    def instances(self) -> list[Document]:
        """Each instance's id, alias, status, tags and usernames (`users`), without a call of Amazon Connect."""
        return list(self._call("GET", "instances"))

    def reset(self) -> None:
        """Reset everything, including the settings."""
        self._call("POST", "reset")

    def _call(self, method: str, path: str, document: Document | None = None) -> Any:
        body = json.dumps(document).encode() if document is not None else None
        request = urllib.request.Request(f"{self._endpoint}{PATH}{path}", data=body, method=method)
        try:
            with self._opener.open(request, timeout=10) as answer:
                return json.loads(answer.read())
        except HTTPError as error:
            raise ValueError(json.loads(error.read())["error"]) from None
