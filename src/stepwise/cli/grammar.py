"""The commands by name, each imported when it is called, and the options that every command has."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from stepwise.local.project import import_application
from stepwise.operations.values import decimal_number, whole_number

from . import output

_JSON = "--json"
_NUMBERS: dict[str, Callable[[str], Any]] = {"int": whole_number, "float": decimal_number}


@dataclass(frozen=True, slots=True)
class Entry:
    """One name of the root.

    where: module of `cli` and attribute, a function or a typer application. tool: it works in any project, without
    the application's deployed code.
    """

    where: str
    help: str
    tool: bool = False

    def load(self, name: str) -> Any:
        if not self.tool:
            import_application()
        module, _, attribute = self.where.partition(":")
        found = getattr(import_module(f"stepwise.cli.{module}"), attribute)
        if not isinstance(found, typer.Typer):
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(name)(found)
            found = alone
            return with_json(typer.main.get_command(found))
        # A group also if it has one verb only.
        return with_json(typer.main.get_group(found))


class Commands(dict[str, Any]):
    """The commands of the root, by section. A value is imported when it is read."""

    def __init__(self, sections: Mapping[str, Mapping[str, Entry]]) -> None:
        self.sections = sections
        super().__init__({name: entry for entries in sections.values() for name, entry in entries.items()})

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if isinstance(found, Entry):
            found = self[name] = found.load(name)
            found.name = name
        return found

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:
            return default
        return self[name]


def root(sections: Mapping[str, Mapping[str, Entry]]) -> type[TyperGroup]:
    """The class of a group with these commands, for `typer.Typer(cls=...)`."""

    class Root(TyperGroup):
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self.commands = Commands(sections)

        def format_commands(self, _ctx: Any, formatter: Any) -> None:
            for title, entries in sections.items():
                with formatter.section(title):
                    formatter.write_dl([(name, entry.help) for name, entry in entries.items()])

    return Root


def leaves(group: Any, *before: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command below a group, with its words."""
    for name in group.commands:
        found = group.commands[name]
        if hasattr(found, "commands"):
            yield from leaves(found, *before, name)
        if _is_leaf(found):
            yield (*before, name), found


def with_json(command: Any) -> Any:
    """Give --json to a command, or to every command of a group; not to one that has it."""
    # Plain help: the same in a pipe, and without the time that Rich takes.
    command.rich_markup_mode = None
    for below in getattr(command, "commands", {}).values():
        with_json(below)
    for parameter in command.params:
        _strict(parameter)
    if _is_leaf(command) and not any(_JSON in parameter.opts for parameter in command.params):
        command.params.append(_option())
    return command


def _strict(parameter: Any) -> None:
    """Let a parameter read only what a person writes: no `1_0`, no foreign digit, no half of a character.

    The name of a file may have bytes of any encoding.
    """
    kind, process = parameter.bare_type(), parameter.process_value
    if kind == "Path":
        return
    read = _NUMBERS.get(kind, str.encode)

    def checked(context: Any, value: Any) -> Any:
        try:
            for one in value if isinstance(value, list | tuple) else [value]:
                if isinstance(one, str):
                    read(one)
        except UnicodeEncodeError:
            raise typer.BadParameter(f"{value!r} is not UTF-8", context, parameter) from None
        except ValueError as error:
            raise typer.BadParameter(str(error), context, parameter) from None
        return process(context, value)

    parameter.process_value = checked


def _is_leaf(command: Any) -> bool:
    return not hasattr(command, "commands") or command.invoke_without_command


@cache
def _option() -> Any:
    """The option as typer makes it, without a parameter of the command's function."""
    made = typer.Typer(add_completion=False, rich_markup_mode=None)
    made.command()(_print_json)
    option = next(one for one in typer.main.get_command(made).params if _JSON in one.opts)
    option.expose_value = False
    return option


def _choose(value: bool) -> bool:
    output.choose(as_json=value)
    return value


def _print_json(
    _json: Annotated[
        bool, typer.Option(_JSON, help="Print JSON; docs/cli.md has its shape.", callback=_choose)
    ] = False,
) -> None:
    """Holds the option."""
