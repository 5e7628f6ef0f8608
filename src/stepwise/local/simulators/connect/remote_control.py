"""Client for the control paths of a running simulator, for tests, benchmarks and demonstrations."""

from typing import Any
from urllib.parse import urlencode

from stepwise.local.simulators.client import Client

type Document = dict[str, Any]


class RemoteControl(Client):
    """Controls a running simulator. address: as in AWS_ENDPOINT_URL_CONNECT."""

    def settings(self) -> Document:
        """Return all times and limits, as fields of `settings.Settings`."""
        return dict(self.control("GET", "settings"))

    def change(self, **settings: float) -> Document:
        """Change some times and limits. An existing instance keeps its times."""
        return dict(self.control("PATCH", "settings", settings))

    def fail(self, operation: str, code: str, **fault: Any) -> None:
        """Fail the next calls of an operation with an error. fault: more fields of `faults.Fault`, here and below."""
        self.fault(operation, code=code, **fault)

    def delay(self, operation: str, seconds: float, **fault: Any) -> None:
        """Delay the next calls of an operation."""
        self.fault(operation, delay_seconds=seconds, **fault)

    def lose_answer(self, operation: str, **fault: Any) -> None:
        """Execute the next calls of an operation, then close the connection without a response."""
        self.fault(operation, lose="answer", **fault)

    def lose_request(self, operation: str, **fault: Any) -> None:
        """Close the connection of the next calls of an operation without an effect."""
        self.fault(operation, lose="request", **fault)

    def fail_creation(self, **fault: Any) -> None:
        """Let the next created instance become CREATION_FAILED."""
        self.fault("CreateInstance", creation_fails=True, **fault)

    def fault(self, operation: str, **fault: Any) -> None:
        """Inject any fault, by the fields of `faults.Fault`."""
        self.control("POST", "faults", {"operation": operation, **fault})

    def faults(self) -> list[Document]:
        """Return the pending faults."""
        return [{**one["injection"], "times": one["left"]} for one in self.control("GET", "faults")["pending"]]

    def clear_faults(self) -> None:
        self.control("DELETE", "faults")

    def requests(self, operation: str | None = None) -> list[Document]:
        """Return every request so far, in the order of arrival, as fields of `journal.Entry`."""
        query = f"?{urlencode({'operation': operation})}" if operation else ""
        return list(self.control("GET", f"requests{query}"))

    def clear_requests(self) -> None:
        self.control("DELETE", "requests")

    def instances(self) -> list[Document]:
        """Return each instance's id, alias, status, tags and usernames (`users`), without a call of Amazon Connect."""
        return list(self.control("GET", "instances"))
