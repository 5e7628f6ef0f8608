"""RunJob: size, checksum and line count of an object, in constant memory."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from idempotency import Unknown, Work

from .job import Job
from .objects import Objects

# Reading twice is harmless. Lambda retries an event at the earliest one minute after a worker crash. The crashed
# owner's lease must have expired by then, or the retry would end as a duplicate.
RUN_JOB = Work("RunJob", unknown=Unknown.RUN_AGAIN, duration=timedelta(seconds=30))


@dataclass(frozen=True, slots=True)
class Jobs:
    objects: Objects

    def run(self, job: Job, *, still_alive: Callable[[], None]) -> dict[str, Any]:
        """Read the whole object.

        still_alive: called after each part. Returns size (bytes), sha256 (hex) and lines; a last line without a line
        feed counts. Raises ObjectNotReadable, ReadBrokenOff, and what `still_alive` raises.
        """
        found = _summary(self.objects.chunks(job), still_alive)
        return {"job_id": job.job_id, "bucket": job.bucket, "key": job.key, "version_id": job.version_id, **found}


def _summary(chunks: Iterable[bytes], after_each: Callable[[], None]) -> dict[str, Any]:
    digest, size, lines, last = hashlib.sha256(), 0, 0, b"\n"
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
        lines += chunk.count(b"\n")
        last = chunk[-1:]
        after_each()
    return {"size": size, "sha256": digest.hexdigest(), "lines": lines + (last != b"\n")}
