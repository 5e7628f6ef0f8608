"""Lambda handlers of jobs."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

import msgspec

from idempotency import InProgress, Lease, LeaseStore, Unknown, Work, idempotent_handler
from runtime.clients import client
from runtime.environment import read_environment
from runtime.handler import Call, handler
from runtime.stores import StoreEnvironment, lease_store

from .job import Job, parse_job
from .objects import Objects
from .service import Jobs

# Reading twice does no harm. Lambda delivers an event again a minute after its worker has died, at the earliest: the
# dead worker's lease must be over by then, or the retry would take it for a duplicate and end.
RUN_JOB = Work("RunJob", unknown=Unknown.RUN_AGAIN, duration=timedelta(seconds=30))


@dataclass(frozen=True, slots=True)
class Environment(StoreEnvironment):
    pass


@cache
def leases() -> LeaseStore:
    return lease_store(read_environment(Environment))


@cache
def jobs() -> Jobs:
    return Jobs(Objects(client("s3")))


@handler(parse_job, ids=("job_id",))
@idempotent_handler(leases, RUN_JOB, key="job_id", payload=msgspec.to_builtins, in_progress=InProgress.END)
def run_job(job: Job, _call: Call, lease: Lease) -> Mapping[str, Any]:
    """Record what the object holds; once for each job."""
    return jobs().run(job, still_alive=lease.heartbeat)
