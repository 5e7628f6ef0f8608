"""Lambda handlers of jobs."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from idempotency import InProgress, Lease, LeaseStore, idempotent_handler
from runtime.clients import client
from runtime.handler import Call, handler
from runtime.stores import StoreEnvironment, lease_store

from .job import Job, parse_job
from .objects import Objects
from .service import RUN_JOB, Jobs


class Environment(StoreEnvironment):
    pass


@cache
def leases() -> LeaseStore:
    return lease_store(Environment())


@cache
def jobs() -> Jobs:
    return Jobs(Objects(client("s3")))


@handler(parse_job, ids=("job_id",))
@idempotent_handler(leases, RUN_JOB, key="job_id", payload=msgspec.to_builtins, in_progress=InProgress.END)
def run_job(job: Job, _call: Call, lease: Lease) -> Mapping[str, Any]:
    """Record the object's size, checksum and lines, once for each job."""
    return jobs().run(job, still_alive=lease.heartbeat)
