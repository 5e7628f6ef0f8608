"""Where the rows of a task are, and what its executions are called."""

import hashlib
from dataclasses import dataclass

PREFIX = "TASK#"


@dataclass(frozen=True, slots=True)
class TaskKey:
    """The key of a task's rows."""

    tenant_code: str
    task_id: str

    @property
    def pk(self) -> str:
        return f"TENANT#{self.tenant_code}"

    @property
    def row(self) -> dict[str, str]:
        return {"pk": self.pk, "sk": f"{PREFIX}{self.task_id}"}

    @property
    def claim(self) -> dict[str, str]:
        """The key of the row that says whose items are being stored while there is no task yet."""
        return {"pk": self.pk, "sk": f"CLAIM#{self.task_id}"}

    @property
    def items(self) -> str:
        """What the sort keys of its items start with."""
        return f"{PREFIX}{self.task_id}#"

    def item(self, number: int) -> dict[str, str]:
        """number: from 1."""
        return {"pk": self.pk, "sk": f"{self.items}{number:04}"}

    def execution(self, attempt: int) -> str:
        """The name of an attempt's execution; at most 46 characters."""
        return f"{self._digest[:40]}-{attempt}"

    def run(self, number: int, round: int) -> str:
        """What names the work of an item: the same until it is known how the work ended. At most 56 characters."""
        return f"{self._digest[:40]}-{number}-{round}"

    @property
    def _digest(self) -> str:
        return hashlib.sha256(f"{self.tenant_code}\n{self.task_id}".encode()).hexdigest()
