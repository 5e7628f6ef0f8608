"""The command line, the same for the local stack and for AWS. Its grammar is `stepwise THINGS VERB`."""

from typing import Annotated

import typer

from stepwise import __version__

from .grammar import Entry, root

_SECTIONS = {
    "Local stack": {
        "demo": Entry(
            "stack_commands:demo", "Deploy to a temporary local stack, run real orders, and stop it.", options=()
        ),
        "start": Entry(
            "stack_commands:start",
            "Start the local stack, and deploy the template to it.",
            tool=True,
            options=("port", "stack"),
        ),
        "stop": Entry("stack_commands:stop", "Stop the local stack. Its data is lost.", tool=True, options=("port",)),
        "console": Entry("console_command:console", "Serve the web console: runs, orders, imports, and what to do."),
        "status": Entry("stack_commands:status", "Show whether the stack is running, with its outputs.", tool=True),
        "fault": Entry(
            "fault_command:fault", "Make a simulator fail: fault answer_lost --on charge.", tool=True, options=("port",)
        ),
        "invoke": Entry(
            "stack_commands:invoke", "Run one function with an event in Docker.", tool=True, options=("port",)
        ),
    },
    "Operations": {
        "attention": Entry("attention_command:attention", "List what needs attention, with the cause and a command."),
        "orders": Entry("orders:app", "Place, list, show, recover, replay and audit orders."),
        "stock": Entry("stock_commands:app", "Show and change the stock on hand."),
        "reports": Entry("reports:app", "Show orders and revenue of a day."),
        "work": Entry("work_commands:app", "Look up work under leases; release or resolve it."),
        "applications": Entry("applications:app", "Submit and show applications for an account; barred names, limits."),
        "jobs": Entry("jobs:app", "List and show jobs."),
        "commands": Entry("commands:app", "Publish, look up, retry and skip versions of keys."),
        "imports": Entry("imports:app", "Import CSV and ZIP files whose rows become commands."),
        "tasks": Entry("tasks:app", "Create, follow and retry tasks of many items."),
        "user-imports": Entry("user_import_commands:app", "Import Amazon Connect users from CSV files."),
        "approvals": Entry("approvals:app", "List what waits for a decision; approve or reject it."),
        "webhooks": Entry("webhooks:app", "Send status changes to HTTPS addresses."),
        "queues": Entry("queues:app", "Show queues, and redrive failed messages."),
        "logs": Entry("logs_command:show_logs", "Show the log lines for an order, across all functions, by time."),
    },
    "Short forms": {
        "place": Entry("order_commands:place_order", "orders place"),
        "show": Entry("order_commands:show", "orders show"),
        "recover": Entry("order_commands:recover", "orders recover"),
        "replay": Entry("replay_command:replay", "orders replay"),
        "seed": Entry("stock_commands:seed", "stock seed"),
        "report": Entry("reports:show_report", "reports show"),
        "import": Entry("import_command:import_users", "user-imports create"),
    },
    "Shell": {
        "completion": Entry("completion:app", "Print the completion script for bash or zsh.", tool=True, options=())
    },
}

app = typer.Typer(
    cls=root(_SECTIONS),
    help="Order sagas, commands, tasks, imports of rows and of users on a local stack or, with --aws, a deployed one. "
    "Every command has --help, and --json for scripts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"stepwise {__version__}")
        raise typer.Exit


@app.callback()
def stepwise(
    _: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_version)] = False,
    _project: Annotated[
        str,
        typer.Option("--project", help="Folder of the SAM application. Default: this one, or one above."),
    ] = "",
) -> None:
    """Holds the options of the program itself."""
