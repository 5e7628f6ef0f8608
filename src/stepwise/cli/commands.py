"""`stepwise commands`: publish versions of a key, look them up, and decide what only a person can."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from entities.command import Key
from entities.reading import Moment
from stepwise.operations import commands, csv_export, targets

from . import command_views, hints, output, shapes, views, waiting
from .checks import read_json
from .options import Yes, chosen_stack

app = typer.Typer(
    help="Commands, which create the versions of a key in order: publish, look up, retry or skip them.",
    no_args_is_help=True,
)

KeyName = Annotated[
    str, typer.Argument(metavar="KEY", help="TENANT_CODE/SK, such as 'tenant1/PRODUCT#tea-01' (in quotes).")
]
Reason = Annotated[str, typer.Option(help="Why; kept on the command's row, with your ARN and the time.")]
_FAILED_SHOWN = 10


@app.command()
def publish(
    file: Annotated[Path, typer.Argument(help="One command as JSON; - reads standard input.")],
    wait: Annotated[bool, typer.Option("--follow/--no-follow", help="Follow the version to its end.")] = True,
) -> None:
    """Publish a version of a key and follow it to its end. Exits with 1 if a dead version is in its way."""
    document = read_json(file, "FILE")
    stack, out = chosen_stack(), views.console()
    answer = commands.publish(stack, document)
    key, version = Key(answer["pk"], answer["sk"].rpartition("@")[0]), answer["version"]
    out.print(f"{answer['sk']}: {answer['status']}")
    if not wait:
        output.document_only({"key": commands.name_of(key), "version": version, "status": answer["status"]})
        return
    with waiting.waiting(f"version {version}"):
        *_, last = commands.follow(stack, key, version)
    output.show(shapes.key(last), command_views.key(last))
    raise typer.Exit(0 if last.gate.finished >= version else 1)


@app.command()
def show(
    key_name: KeyName,
    at: Annotated[
        str, typer.Option("--at", metavar="VERSION|TIME", help="Print the entity as it was, as JSON. TIME: ISO 8601.")
    ] = "",
    last: Annotated[int, typer.Option(min=1, max=commands.MAX_SHOWN, help="How many versions to show.")] = 20,
) -> None:
    """Show a key: its versions and which waits for which, and the version that each target shows."""
    key = commands.parse_key(key_name)
    moment = _moment(at) if at else None
    stack = chosen_stack()
    if moment is None:
        seen = commands.view(stack, key, last=last)
        output.show(shapes.key(seen), command_views.key(seen))
        return
    _print_json(commands.as_of(stack, commands.tables(stack), key, moment), indent=2)


@app.command("list")
def list_keys(
    blocked: Annotated[bool, typer.Option("--blocked", help="Only keys whose next version is dead.")] = False,
    lagging: Annotated[bool, typer.Option("--lagging", help="Only keys of which a target lags behind.")] = False,
) -> None:
    """List keys that need attention, oldest first: those that are blocked, and those with a target that lags behind."""
    stack = chosen_stack()
    both = blocked == lagging
    dead = commands.blocked(stack) if blocked or both else []
    behind = commands.lagging(stack) if lagging or both else []
    drawn = [command_views.blocked(dead)] * (blocked or both) + [command_views.lagging(behind)] * (lagging or both)
    output.show({"keys": [shapes.listed_key(one) for one in [*dead, *behind]]}, *drawn)


@app.command()
def retry(key_name: KeyName, reason: Reason) -> None:
    """Run all dead versions of a key again, in order."""
    key, stack = commands.parse_key(key_name), chosen_stack()
    versions = commands.retry(stack, key, reason)
    output.document_only({"key": key_name, "versions": versions})
    output.say(f"Retried {_versions(versions)}: {hints.command('commands', 'show', key_name)}")


@app.command()
def skip(
    key_name: KeyName,
    reason: Reason,
    yes: Yes = False,
) -> None:
    """Skip the dead version that blocks a key: it never runs, and the next one does. Asks first."""
    key, stack = commands.parse_key(key_name), chosen_stack()
    seen, out = commands.view(stack, key, last=1), views.console()
    if seen.gate.blocked and not yes:
        out.print(command_views.key(seen))
        output.ask(f"Skip version {seen.gate.turn} of {key_name} for good?")
    version = commands.skip(stack, key, seen.gate.turn, reason)
    output.document_only({"key": key_name, "versions": [version]})
    out.print(f"Skipped version {version}.")


@app.command()
def rebuild(
    target: Annotated[str, typer.Argument(help=f"{', '.join(sorted(targets.TARGETS))}, or gate.")],
    key_name: Annotated[str, typer.Option("--key", metavar="KEY", help="Only this key: TENANT_CODE/SK.")] = "",
) -> None:
    """Rebuild a target from the data of one or all keys while commands continue. Exits with 1 if a key failed."""
    key = commands.parse_key(key_name) if key_name else None
    stack, out = chosen_stack(), views.console()
    if key:
        version = targets.rebuild(stack, commands.tables(stack), key, target)
        output.document_only({"target": target, "key": key_name, "version": version})
        out.print(f"{target} shows version {version} of {key_name}.")
        return
    with waiting.waiting(f"rebuilding {target}") as status:
        rebuilt, failed = targets.rebuild_all(
            stack, commands.tables(stack), target, lambda done: status.update(f"{done} keys")
        )
    output.document_only({"target": target, "rebuilt": rebuilt, "failed": len(failed)})
    out.print(f"{target}: {rebuilt} keys rebuilt, {len(failed)} failed.")
    for one in failed[:_FAILED_SHOWN]:
        out.print(f"{commands.name_of(one.key)}: {one.cause}")
    raise typer.Exit(1 if failed else 0)


@app.command()
def export(
    kind: Annotated[str, typer.Argument(metavar="TYPE", help="Such as PRODUCT.")],
    tenant: Annotated[str, typer.Option(help="Only this tenant_code. Needed if there are several.")] = "",
    as_json: Annotated[
        bool,
        typer.Option("--json", help="A line of JSON for each entity, of all tenants, also those that are deleted."),
    ] = False,
) -> None:
    """Print the entities of a type as CSV, which 'stepwise imports create' accepts."""
    stack = chosen_stack()
    if as_json:
        for entity in commands.export(stack, commands.tables(stack), kind):
            _print_json(entity)
        return
    header, left_out = csv_export.header(kind), []
    tenant = tenant or csv_export.tenant_of(stack, commands.tables(stack), kind)
    output.data(header)
    for row in csv_export.rows(stack, commands.tables(stack), kind, tenant):
        if row.line:
            output.data(row.line)
        else:
            left_out.append(commands.name_of(row.key))
    if left_out:
        message = f"Left out {len(left_out)}, which a file cannot hold, such as {left_out[0]}. --json has all."
        views.console(stderr=True).print(message, style="yellow")


def _moment(text: str) -> Moment:
    try:
        return commands.parse_moment(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a version nor a time in ISO 8601", param_hint="--at") from None


def _versions(numbers: list[int]) -> str:
    return f"version{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _print_json(value: Any, *, indent: int | None = None) -> None:
    sys.stdout.write(output.json_text(value, indent=indent) + "\n")
