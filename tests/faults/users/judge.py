"""Judges user imports by the contents of Connect, the bucket and the records, after every write."""

import csv
import io
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.faults.actors.judging import Judging
from tests.faults.seams import Document
from tests.faults.users import invariants as breaks
from tests.faults.users import schedule as s
from tests.faults.users.connect import Made
from tests.faults.users.plan import SECRET, File, Row

if TYPE_CHECKING:
    from tests.faults.users.run import Run

_HEADER = ["No.", "CSVRowNumber", "result", "UserId", "UserArn", "errorMessage"]
_UNKNOWN, _PASSWORD_NOT_SET, _EXISTS = "NotRegistered", "PasswordNotSet", "UserExists"
_TAG = "stepwise-stack"
# Connect's errors if it did nothing, and the faults that cause them.
_INJECTED = {"UserQuotaExceeded": s.FULL, "ConnectDenied": s.DENIED, "InstanceNotFound": s.MISSING}
_HARMLESS = {*_INJECTED, _EXISTS, "ConnectRefused"}
_REFUSED = {"InvalidImport", "InvalidHeader", "UnclosedQuote", "NoImportFile", "InvalidResultFile", "WrongEncoding"}
_BY_ITSELF = {"SUCCEEDED", "FAILED"}
_RUNTIME = "States.Runtime"


@dataclass
class Import:
    """One import.

    asked: its input. at: when the Initialize began that pinned its file. key, version, origin, file: the pinned ones.
    announced: whether it has a result. registered: its last result with outcomes.
    status, error: those of its execution.
    """

    name: str
    asked: Document
    at: float = -1.0
    key: str = ""
    version: str = ""
    origin: str = ""
    file: File = field(default_factory=lambda: File(()))
    announced: bool = False
    registered: bytes = b""
    status: str = "RUNNING"
    error: str = ""

    @property
    def validates(self) -> bool:
        return bool(self.asked.get("validate_only"))

    @property
    def result_key(self) -> str:
        validation = "_validate_only" if self.validates else ""
        return f"{self.origin.replace('TestFile_', 'UserCreateResult_').removesuffix('.csv')}{validation}.csv"


class Judge(Judging["Run"]):
    """Judges imports.

    imports: by name. rows: by code, of all results. told: notices, by import. recorded: rows with an outcome.
    refused: when the machine was told that a row has failed.
    """

    def __init__(self, run: "Run") -> None:
        super().__init__(run)
        self.imports: dict[str, Import] = {}
        self.rows: Counter[str] = Counter()
        self.told: Counter[str] = Counter()
        self.recorded: set[tuple[str, int]] = set()
        self.refused: dict[tuple[str, int], float] = {}
        self._answers: dict[str, str] = {}
        self._seen: set[str] = set()

    def passes(self, what: str, text: str) -> None:
        """Judge a text that goes where others may read it."""
        if SECRET in text.lower():
            self.broken(breaks.SECRET, f"{what}: {text[:200]}")

    # Records and answers.

    def wrote(self, new: Document | None) -> None:
        if new:
            self.passes("a record", json.dumps(new))
            name, _, rest = new["pk"]["S"].rpartition("/")
            if new["status"]["S"] == "COMPLETED":
                self.recorded.add((name, int(rest.partition("#")[0])))

    def answered(self, call: str, answer: str) -> None:
        """Judge a response. call: names the calls that must all get this response."""
        if self._answers.setdefault(call, answer) != answer:
            self.broken(breaks.SAME, f"{call.partition('/')[0]}: {self._answers[call]}, and then {answer}")

    # Executions.

    def begun(self, name: str, asked: Document) -> None:
        self.imports.setdefault(name, Import(name, asked)).status = "RUNNING"
        if asked.get("version_id") and name.startswith("upload-"):
            same = [one for one in self.imports if one.startswith("upload-") and self.imports[one].asked == asked]
            if len(same) > 1:
                self.broken(breaks.STARTED, f"{len(same)} imports of one upload")

    def started(self, name: str) -> None:
        """Note that StartUserImport reports that it started this import."""
        if name not in self.imports:
            self.broken(breaks.STARTED, "an upload that is said to have started an import has started none")

    def initialized(self, name: str, plan: Document, at: float) -> None:
        one, source = self.imports[name], plan["source"]
        one.at, one.key, one.version, one.origin = at, source["key"], source["version_id"], plan["origin"]
        one.file = self.run.files[one.key, one.version]
        if one.asked.get("version_id", one.version) != one.version or one.asked.get("key", one.key) != one.key:
            self.broken(breaks.ASKED, f"{self.run.label(name)} pins another file")

    def ended(self, name: str, detail: Document) -> None:
        one = self.imports[name]
        one.status, one.error = detail["status"], detail.get("error") or ""
        for what in ("output", "cause", "input"):
            self.passes(f"the {what} of an execution", str(detail.get(what)))
        label = f"{self.run.label(name)} {one.status} {one.error}"
        if one.status == "SUCCEEDED":
            self._judge_success(one, json.loads(detail["output"]), label)
        if one.error == "UnexpectedFailure" or (
            one.status == "FAILED" and self.run.only_throttled and one.error not in self.run.reasons(one)
        ):
            self.broken(breaks.DEFECT, label)
        if one.error in _REFUSED and self._made_by(name):
            self.broken(breaks.REFUSED, label)
        silent = one.error == _RUNTIME or self.run.refused_notices[name]
        if one.status in _BY_ITSELF and not silent and not self.told[name]:
            self.broken(breaks.TOLD, label)

    def _judge_success(self, one: Import, output: Document, label: str) -> None:
        versions = {row["version_id"]: row for row in self.run.engine.versions(output["result_key"])}
        found = versions.get(output["result_version_id"])
        if found is None or self._owner(found) is not one:
            self.broken(breaks.STATUS, f"{label}: its result is not there")
            return
        lines = _parsed(found["data"])
        if any(_code(cells) == _UNKNOWN for cells in lines):
            self.broken(breaks.STATUS, f"{label}: an outcome is not known")
        good = sum(cells[2] == "Success" for cells in lines)
        counted = [output[name] for name in ("rows", "succeeded", "failed")]
        if counted != [len(lines), good, len(lines) - good]:
            self.broken(breaks.STATUS, f"{label}: counts {counted} of {len(lines)} rows, {good} good")

    # Connect.

    def user_made(self, made: Made) -> None:
        """Judge a created user."""
        if made.by is None:
            return
        self.passes("a tag", json.dumps(made.asked["Tags"]))
        name, number = made.by
        one, where = self.imports[name], f"row {number} of {self.run.label(name)}"
        row, code = one.file.row(number)
        wrong = row is None or code or one.validates
        if wrong or row is None or made.identity != row.identity or made.asked["Password"] != row.password:
            self.broken(breaks.ASKED, where)
        if made.again:
            self.broken(breaks.ONCE, where)
        if not one.announced:
            self.broken(breaks.ANNOUNCED, where)

    def instances(self) -> None:
        """Note that Connect was asked for an instance."""
        standing = [
            one
            for one in self.run.outside.account._instances.values()
            if _TAG in one.tags and one.gone_at == float("inf")
        ]
        if len(standing) > 1:
            self.broken(breaks.INSTANCE, f"{len(standing)} instances")

    def _made_by(self, name: str) -> list[Made]:
        """Return the users that an import has created and that still exist."""
        standing = {user_id for one in self.run.outside.account.instances() for user_id in one.users}
        made = (self.run.outside.made[user_id] for user_id in standing)
        return [one for one in made if one.by and one.by[0] == name]

    def is_own(self, made: Made, row: Row, origin: str) -> bool:
        """True if this is the user of a row, in any version of the file."""
        return bool(made.by) and made.identity == row.identity and self._origin(made) == origin

    def _origin(self, made: Made) -> str:
        return self.imports[made.by[0]].origin if made.by else ""

    # Results.

    def moment(self) -> None:
        """Judge the results after a request."""
        for key in self.run.engine.stored():
            versions = self.run.engine.versions(key)
            if "UserCreateResult_" not in key:
                continue
            for number, version in enumerate(versions):
                if version["version_id"] not in self._seen:
                    self._seen.add(version["version_id"])
                    self._judge_result(key, version, versions[:number])

    def _judge_result(self, key: str, version: Document, before: list[Document]) -> None:
        one = self._owner(version)
        label, body = self.run.label(one.name), version["data"]
        self.run.say(f"result of {label} at {'its own key' if '_of_' in key else 'the key of its file'}")
        self.passes("a result", f"{version['metadata']} {body.decode()}")
        lines = _parsed(body)
        writer = self.run.writer()
        if json.loads(writer.event)["import_id"] != one.name:
            self.broken(breaks.OWN, f"{label} is said to have written what {writer.id} wrote")
        if [cells[:2] for cells in lines] != [[str(n), str(of)] for n, of in enumerate(one.file.numbers, start=1)]:
            self.broken(breaks.COMPLETE, f"{label}: {[cells[:2] for cells in lines]} of {len(one.file.rows)} rows")
            return
        self._judge_place(one, key, body, before)
        for row, code, cells in zip(one.file.rows, one.file.codes, lines, strict=True):
            self._judge_row(one, row, code, cells)
        if writer.function == "RegisterResultFunction" and any(_code(cells) != _UNKNOWN for cells in lines):
            one.registered = body
            self.rows.update(_code(cells) or "created" for cells in lines)
        one.announced = True

    def _owner(self, version: Document) -> Import:
        return self.imports[version["metadata"]["x-amz-meta-import-id"]]

    def _judge_place(self, one: Import, key: str, body: bytes, before: list[Document]) -> None:
        label = self.run.label(one.name)
        plain, _, rest = one.result_key.partition(".csv")
        if key == f"{plain}_of_{one.name}.csv":
            owners = {one.name: one.at for one in map(self._owner, self.run.engine.versions(one.result_key))}
            if max(owners.values(), default=-1) <= one.at:
                self.broken(breaks.OWN, f"{label} gives way to {[*map(self.run.label, owners)]}")
        elif key != one.result_key or rest:
            self.broken(breaks.OWN, f"{label} writes elsewhere")
        if not before or before[-1]["data"] in [version["data"] for version in before[:-1]]:
            return
        replaced = self._owner(before[-1])
        if replaced.at > one.at:
            self.broken(breaks.NEWEST, f"{label} replaces the result of {self.run.label(replaced.name)}")
        if replaced is one and one.registered and body != one.registered:
            self.broken(breaks.FINAL, label)

    def _judge_row(self, one: Import, row: Row, wrong: str, cells: list[str]) -> None:
        _, number, word, user_id, arn, _ = cells
        code, where = _code(cells), f"row {number} of {self.run.label(one.name)}: {word} {_code(cells)}"
        if word == "Success":
            self._judge_user(one, row, wrong, code, (user_id, arn), where)
            return
        if user_id or arn or word != "False":
            self.broken(breaks.CODE, f"{where}, with a user")
        if code == "UnexpectedFailure":
            self.broken(breaks.DEFECT, where)
        if code in _HARMLESS and self._has_user(one, number):
            self.broken(breaks.HARMLESS, where)
        if code == _UNKNOWN or (wrong and code == wrong):
            return
        if wrong and code in _HARMLESS:
            self.broken(breaks.CODE, f"{where}, and it is {wrong}")
        elif code == _EXISTS:
            others = [made for made in self.run.outside.made.values() if made.asked["Username"] == row.username]
            if all(self.is_own(made, row, one.origin) for made in others):
                self.broken(breaks.CODE, f"{where}, and it is its own user")
        elif not self._may_be(code):
            self.broken(breaks.CODE, where)

    def _has_user(self, one: Import, number: str) -> bool:
        """True if a failed row had created its user, and could know: SearchUsers shows it, and was not refused."""
        later = rf"UserCreate@{self.run.label(one.name)}\.{number}#(?!1\.)\d+\."
        lookups = (fault for fault in self.run.faults.injected if fault.kind in s.USER_KINDS)
        if self.run.plan.lag or any(re.match(later, fault.at) for fault in lookups):
            return False
        row = (one.name, int(number))
        return any(made.by == row and made.at <= self.refused.get(row, 0) for made in self._made_by(one.name))

    def _may_be(self, code: str) -> bool:
        """True if a fault explains the code of a row."""
        if code in _INJECTED:
            kinds = {fault.kind for fault in self.run.faults.injected}
            return _INJECTED[code] in kinds or self.run.was_reset
        natural = {"ConnectThrottled": self.run.plan.throttles, "UserNotVisible": self.run.plan.lag}
        return bool(not self.run.only_throttled or self.run.was_reset or natural.get(code))

    def _judge_user(self, one: Import, row: Row, wrong: str, code: str, user: tuple[str, str], where: str) -> None:
        if wrong or code not in ("", _PASSWORD_NOT_SET):
            self.broken(breaks.CODE, f"{where}, and it is {wrong or 'right'}")
        if one.validates:
            if any(user):
                self.broken(breaks.TRUE, f"{where} of a validation has a user")
            return
        made = self.run.outside.made.get(user[0])
        if made is None or made.user.arn != user[1] or not self.is_own(made, row, one.origin):
            self.broken(breaks.TRUE, f"{where} is not the user of the row")
        elif not code and made.asked["Password"] != row.password:
            self.broken(breaks.TRUE, f"{where} has another password")
        elif code and not one.asked.get("retry_of") and made.by and self.imports[made.by[0]].version == one.version:
            self.broken(breaks.TRUE, f"{where}, and its own version has set the password")

    # The end.

    def at_last_import(self, last: Import | None) -> None:
        """Judge the last import, which is without a fault."""
        for one in self.imports.values():
            if one.status == "RUNNING":
                self.broken(breaks.ENDS, self.run.label(one.name))
        for execution in self.run.engine.executions():
            self.passes("a history", json.dumps(execution["events"]))
        if last is None or last.status != "SUCCEEDED":
            self.broken(breaks.FOUND, f"the last import is {last.status if last else 'not there'}")
            return
        for row, wrong, cells in zip(last.file.rows, last.file.codes, _parsed(last.registered), strict=False):
            standing = self.run.standing(row.username)
            own = standing and self.is_own(standing, row, last.origin)
            wanted = wrong or ("" if own else _EXISTS)
            found = "" if cells[2] == "Success" else _code(cells)
            if found != wanted or (not wanted and standing and cells[3] != standing.user.id):
                self.broken(breaks.FOUND, f"row {cells[1]}: {found or cells[2]}, not {wanted or 'its user'}")


def _parsed(body: bytes) -> list[list[str]]:
    header, *lines = list(csv.reader(io.StringIO(body.decode(), newline=""))) or [[]]
    return lines if header == _HEADER and all(len(cells) == len(_HEADER) for cells in lines) else []


def _code(cells: list[str]) -> str:
    return cells[5].partition(":")[0]
