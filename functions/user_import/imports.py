"""The import from its input to its result, one method for each state but UserCreate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from runtime.encodings import UTF_8

from .bucket import Source
from .errors import ImportRefused, NoImportFile
from .files import Files, Rows, merged
from .instances import Instances
from .requests import (
    SCHEMA,
    CheckInstanceExistence,
    CountCsvFiles,
    CreateInstance,
    ImportRequest,
    Plan,
    RegisterResult,
    ResultCsvFileCreate,
)
from .results import Outcome, Result
from .retry import Imported, Kept, kept, note, noted
from .user import ProfileIds, ProfileNames
from .user import used_profiles as used

READY, WAIT = "READY", "WAIT"


@dataclass(frozen=True, slots=True)
class Imports:
    """defaults: profiles of the rows that name none."""

    files: Files
    instances: Instances
    defaults: ProfileNames

    def plan(self, request: ImportRequest) -> Plan:
        """Pin the files to their versions, and check that they and the instance exist.

        Raises InvalidImport, NoImportFile, InvalidHeader, InvalidResultFile, and for a short file what CountCsvFiles
        raises for a long one. Then nothing was created or deleted.
        """
        if request.reset:
            self.instances.require_reset()
        origin = self.files.origin(request.retried) if request.retried else None
        field = "key" if request.key else "retry_of"
        source = self.files.chosen(request.key or origin, request.version_id, field)
        self.files.check_start(source, self.defaults, request.encoding, confirmed=request.encoding_confirmed)
        retry_of, retried = self._retry_of(request.retry_of) if request.retry_of else (None, None)
        instance_id = self.instances.chosen(request.instance_id)
        deleted = self.instances.delete_own() if request.reset else []
        return Plan(
            source,
            instance_id,
            request.validate_only,
            retry_of,
            tuple(deleted),
            origin or source.key,
            request.encoding,
            retried,
            encoding_confirmed=request.encoding_confirmed,
            schema=SCHEMA,
        )

    def instance(self, call: CreateInstance) -> str | None:
        """The id of the stack's own instance; None if the import only validates."""
        return None if call.plan.validate_only else self.instances.ensure(call.import_id, call.plan.deleted)

    def check(self, call: CheckInstanceExistence) -> Mapping[str, Any]:
        """READY with the instance's ARN, or WAIT. Raises InstanceCreationFailed, InstanceNotReady."""
        checks = call.checks + 1
        if call.instance_id is None:
            return {"status": READY, "checks": checks, "instance_arn": ""}
        instance = self.instances.ready(call.instance_id, self.defaults, checks)
        if instance is None:
            return {"status": WAIT, "checks": checks}
        return {"status": READY, "checks": checks, "instance_arn": instance.arn}

    def count(self, call: CountCsvFiles) -> Mapping[str, Any]:
        """Pointers to the rows to run, and what they share.

        Raises what `Files.count` raises, TooManyProfiles, InvalidResultFile.
        """
        plan = call.plan
        found = self.files.count(plan.source, self.defaults, plan.encoding, confirmed=plan.encoding_confirmed)
        keeping = self._kept(call, found) if plan.retry_of else []
        done = {one.number for one in keeping}
        profiles: ProfileIds | None = None
        if call.instance_id:
            profiles = used(self.instances.connect.profiles(call.instance_id), found.profiles)
        return {
            "rows": [str(pointer) for pointer in found.pointers if pointer.number not in done],
            "kept": [str(one) for one in keeping],
            "columns": list(found.columns),
            "profiles": msgspec.to_builtins(profiles),
            "result_key": self.files.result_key(plan.origin or plan.source.key, validate_only=plan.validate_only),
        }

    def announce(self, call: ResultCsvFileCreate) -> Mapping[str, Any]:
        """Write the result file that remains if the import ends here: every row NotRegistered."""
        written = self.files.announce(call.result_key, self._results(call, [], ""), self._note(call))
        return {"key": written.key, "version_id": written.version_id}

    def register(self, call: RegisterResult) -> Mapping[str, Any]:
        """Write the result file in one put. Returns the summary: counts and keys, no personal data."""
        results = self._results(call, call.known, call.instance_arn)
        written = self.files.register(call.result_key, results, self._note(call))
        succeeded = sum(result.succeeded for result in results)
        return {
            "import_id": call.import_id,
            "file": call.plan.source.key,
            "validate_only": call.plan.validate_only,
            "rows": len(results),
            "run": len(call.rows),
            "succeeded": succeeded,
            "failed": len(results) - succeeded,
            "result_key": written.key,
            "result_version_id": written.version_id,
        }

    def _results(self, call: ResultCsvFileCreate, outcomes: list[Outcome], instance_arn: str) -> list[Result]:
        earlier = self.files.earlier(call.plan.retry_of) if call.plan.retry_of else []
        # State data of an earlier release does not name the rows that keep their results.
        unnamed = [] if call.plan.schema else [result.csv_row for result in earlier]
        return merged(call.pointers, outcomes, earlier, call.kept_rows, instance_arn, unnamed)

    def _kept(self, call: CountCsvFiles, found: Rows) -> list[Kept]:
        """The rows that keep their results. None if the earlier file is gone: then all rows run."""
        plan = call.plan
        earlier = self.files.earlier(plan.retry_of) if plan.retry_of else []
        try:
            contents = self._contents(plan.retried) if plan.retried else {}
        except ImportRefused:
            contents = {}
        rows = list(zip(found.pointers, found.contents, strict=True))
        return kept(rows, earlier, contents, None if plan.validate_only else call.instance_id)

    def _contents(self, retried: Imported) -> dict[int, bytes]:
        # An earlier import has accepted it.
        found = self.files.count(retried.source, self.defaults, retried.encoding, confirmed=True)
        return {pointer.number: known for pointer, known in zip(found.pointers, found.contents, strict=True)}

    def _note(self, call: ResultCsvFileCreate) -> Mapping[str, str]:
        imported = Imported(call.plan.source, call.plan.encoding or UTF_8)
        return note(call.import_id, imported, call.plan.began)

    def _retry_of(self, key: str) -> tuple[Source, Imported | None]:
        try:
            stored = self.files.bucket.stored(key)
        except NoImportFile as error:
            raise NoImportFile(f"retry_of: {error}") from None
        self.files.earlier(stored.source)
        return stored.source, noted(stored.metadata)
