"""Lambda handler of jobs: run_job, called by operators and by the event of a new object in JobsBucket."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from idempotency import InProgress, Lease, LeaseStore, idempotent_handler
from runtime.clients import client
from runtime.handler import Call, handler
from runtime.stores import StoreEnvironment, lease_store

from .requests import Job, parse_job
from .running import RUN_JOB, Jobs

environment = StoreEnvironment()


@cache
def leases() -> LeaseStore:
    return lease_store(environment)


@cache
def jobs() -> Jobs:
    return Jobs(client("s3"))


@handler(parse_job, ids=("job_id",))
@idempotent_handler(leases, RUN_JOB, key="job_id", payload=msgspec.to_builtins, in_progress=InProgress.END)
def run_job(job: Job, _call: Call, lease: Lease) -> Mapping[str, Any]:
    """Record the object's size, checksum and lines, once for each job."""
    return jobs().run(job, still_alive=lease.heartbeat)
