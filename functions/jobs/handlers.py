"""Lambda handlers of jobs."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

import msgspec

from idempotency import InProgress, Lease, LeaseStore, Unknown, Work, idempotent_handler
from runtime.clients import client
from runtime.environment import read_environment
from runtime.stores import StoreEnvironment, lease_store
from runtime.tracing import traced

from .job import parse_job
from .objects import Objects
from .service import Jobs

# Reading twice is harmless. Lambda retries an event at the earliest a minute after its worker crashed. The crashed
# owner's lease must have expired by then, or the retry would end as a duplicate.
RUN_JOB = Work("RunJob", unknown=Unknown.RUN_AGAIN, duration=timedelta(seconds=30))

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Environment(StoreEnvironment):
    pass


@cache
def leases() -> LeaseStore:
    return lease_store(read_environment(Environment))


@cache
def jobs() -> Jobs:
    return Jobs(Objects(client("s3")))


@idempotent_handler(
    leases,
    RUN_JOB,
    key=lambda event: parse_job(event).job_id,
    payload=lambda event: msgspec.to_builtins(parse_job(event)),
    in_progress=InProgress.END,
)
def run_job(event: Any, _context: Any, lease: Lease) -> Mapping[str, Any]:
    """Record the object's size, checksum and lines, once for each job."""
    job = parse_job(event)
    fields = {"job_id": job.job_id, "attempt": lease.attempt}
    with traced("run_job", job_id=job.job_id):
        _logger.info("started", extra=fields)
        result = jobs().run(job, still_alive=lease.heartbeat)
        _logger.info("done", extra=fields)
    return result
