"""`stepwise reports`: orders and revenue of a day."""

import typer

from . import report_command

app = typer.Typer(help="Orders and revenue of a day.", no_args_is_help=True)
app.command("show")(report_command.show_report)
