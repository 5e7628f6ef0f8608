"""Judges ZIPs after every request, at their end, and at the end of a run."""

from collections import Counter

from ministack.services import s3

from imports.state import TOTALS
from tests.faults.imports.judge import Judge
from tests.faults.imports.ledger import FINAL_STATUSES
from tests.faults.seams import Document
from tests.faults.zips.invariants import CHILDLESS, CLEAN, LAST, REFUSED, TOTAL

_STOPPED = {None, "Stopped"}


class ZipJudge(Judge):
    """Judges ZIPs and their children, which are judged as imports."""

    def children(self, zip_id: str) -> list[Document]:
        return [row for row in self.imports.values() if row.get("parent_id") == zip_id]

    def _wrote_import(self, before: Document | None, row: Document) -> None:
        super()._wrote_import(before, row)
        if before or "parent_id" not in row:
            return
        parent = self.imports[row["parent_id"]]
        if parent["status"] in FINAL_STATUSES or "stopped_by" in parent or "entries" not in parent or self.run.plan.lie:
            self.broken(CHILDLESS, f"{self.run.label(row['import_id'])} begins, and its ZIP is {parent['status']}")

    def moment(self) -> None:
        touched = [self.imports[one] for one in self.touched if one in self.imports]
        super().moment()
        for zip_id in {row.get("parent_id", row["import_id"]) for row in touched}:
            self._compare_total(self.imports[zip_id])

    def _compare_total(self, row: Document) -> None:
        total = Counter[str]()
        for child in self.children(row["import_id"]):
            total.update({name: child[name] for name in TOTALS})
        found, wanted = [row[name] for name in TOTALS], [total[name] for name in TOTALS]
        if found != wanted:
            self.broken(TOTAL, f"{self.run.label(row['import_id'])}: {found}, and the children {wanted}")

    def _count(self, import_id: str, row: Document) -> None:
        if "parent_id" in row:
            super()._count(import_id, row)

    def _judge_end(self, import_id: str) -> None:
        row = self.imports[import_id]
        if "parent_id" in row:
            super()._judge_end(import_id)
            return
        label, code = self.run.label(import_id), row.get("error", {}).get("code")
        self.run.say(f"ZIP {label} {row['status']} {code or ''}")
        self._judge_cut(import_id)
        if code not in _STOPPED | {self.run.plan.lie} | ({"InvalidImport"} if self.run.removed else set()):
            self.broken(REFUSED, f"{label}: {code}, and the archive is {self.run.plan.lie or 'right'}")
        if "entries" in row and code not in _STOPPED:
            self.broken(REFUSED, f"{label}: {code}, and its entries were written")
        children = self.children(import_id)
        statuses = {child["status"] for child in children}
        if not statuses <= FINAL_STATUSES:
            self.broken(LAST, f"{label} has ended, and its children are {sorted(statuses)}")
        complete = not self.run.plan.lie and len(children) == len(self.run.plan.entries)
        best = "COMPLETED_WITH_FAILURES" if any(child["succeeded_rows"] for child in children) else "FAILED"
        wanted = "COMPLETED" if complete and statuses == {"COMPLETED"} else best
        if row["status"] != wanted:
            self.broken(LAST, f"{label} is {row['status']}, and its children make it {wanted}")

    def at_last(self) -> None:
        super().at_last()
        for zip_id, row in self.imports.items():
            if "parent_id" in row or "entries" in row or zip_id in self.run.cut_short:
                continue
            kept = [*s3._buckets[self.run.engine.bucket]["objects"], *(key for _, key in s3._object_versions)]
            left = {key for key in kept if key.startswith(f"work/{zip_id}/")}
            if left:
                self.broken(CLEAN, f"{self.run.label(zip_id)} left {sorted(left)}")
