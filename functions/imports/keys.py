"""Where the rows and files of an import are."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ImportKey:
    """The key of an import's rows."""

    tenant_code: str
    import_id: str

    @property
    def pk(self) -> str:
        return f"TENANT#{self.tenant_code}"

    @property
    def row(self) -> dict[str, str]:
        return {"pk": self.pk, "sk": f"IMPORT#{self.import_id}"}

    @property
    def parent(self) -> "ImportKey | None":
        """The ZIP that a child belongs to."""
        parent, dash, _ = self.import_id.partition("-")
        return ImportKey(self.tenant_code, parent) if dash else None

    def child(self, number: int) -> "ImportKey":
        """The key of the import of an entry. number: of the entry, from 1."""
        return ImportKey(self.tenant_code, f"{self.import_id}-{number:04}")

    def batch(self, first_row: int) -> dict[str, str]:
        """The key of a batch record. first_row: its first position in the file."""
        return {"pk": self.pk, "sk": f"{self.batches}{first_row:09}"}

    @property
    def batches(self) -> str:
        """What the sort keys of its batch records start with."""
        return f"IMPORT#{self.import_id}#BATCH#"

    @property
    def work(self) -> str:
        """The folder of what only the import itself needs."""
        return f"work/{self.import_id}/"

    def result(self, name: str) -> str:
        """The key of a file of results."""
        return f"results/{self.tenant_code}/{self.import_id}/{name}.csv"

    def draft(self, finalization: str, name: str) -> str:
        """The key of a file of results before it is known whether this finalization is the one that counts."""
        return f"{self.work}{finalization}/{name}.csv"
