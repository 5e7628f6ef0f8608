"""`stepwise jobs`: jobs that a person should know of."""

from typing import Annotated

import typer

from stepwise.operations import work

from . import checks, output, shapes
from .options import chosen_stack
from .work_commands import decisions, work_table

app = typer.Typer(help="Jobs, each of which reads an object once.", no_args_is_help=True)

JobId = Annotated[str, typer.Argument(help="The JobId.", callback=checks.business_id)]


@app.command("list")
def list_jobs() -> None:
    """List the jobs that run, failed, or whose outcome is unknown, the oldest first. By an index."""
    found = [one for one in work.listed(chosen_stack()) if one.key.endswith(f"#{work.JOB}")]
    found.sort(key=lambda one: one.updated_at)
    output.show({"jobs": [shapes.work(one) for one in found]}, work_table(found))


@app.command()
def show(job_id: JobId) -> None:
    """Show a job, and what operators decided."""
    record = work.record(chosen_stack(), job_id, work.JOB)
    output.show(shapes.work(record), work_table([record]), *([decisions([record])] if record.audit else []))
