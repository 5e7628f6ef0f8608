"""The commands by name, each imported when it is called, and the options that commands share."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from stepwise.local.project import import_application
from stepwise.operations.values import decimal_number, whole_number

WHERE = ("port", "aws", "stack")
"""The options --port, --aws and --stack."""
_NUMBERS: dict[str, Callable[[str], Any]] = {"int": whole_number, "float": decimal_number}


@dataclass(frozen=True, slots=True)
class Entry:
    """One name of the root.

    where: module of `cli` and attribute, a function or a typer application. tool: it works in any project, without
    the application's deployed code. options: those of WHERE that it accepts.
    """

    where: str
    help: str
    tool: bool = False
    options: Sequence[str] = WHERE

    def load(self, name: str) -> Any:
        if not self.tool:
            import_application()
        module, _, attribute = self.where.partition(":")
        found = getattr(import_module(f"stepwise.cli.{module}"), attribute)
        if not isinstance(found, typer.Typer):
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(name)(found)
            found = alone
            return with_shared(typer.main.get_command(found), self.options)
        # A group stays a group even if it has only one verb.
        return with_shared(typer.main.get_group(found), self.options)


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
    """Create the class of a group with these commands, for `typer.Typer(cls=...)`."""

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
    """Yield every command below a group, with its words."""
    for name in group.commands:
        found = group.commands[name]
        if hasattr(found, "commands"):
            yield from leaves(found, *before, name)
        if _is_leaf(found):
            yield (*before, name), found


def with_shared(command: Any, options: Sequence[str]) -> Any:
    """Add --json, unless present, and these options of WHERE to a command, or to every command of a group."""
    # Plain help: the same in a pipe, and without the time that Rich takes.
    command.rich_markup_mode = None
    for below in getattr(command, "commands", {}).values():
        with_shared(below, options)
    for parameter in command.params:
        _strict(parameter)
    if _is_leaf(command):
        given = {name for parameter in command.params for name in parameter.opts}
        wanted = [option for name, option in _shared().items() if name in (*options, "json")]
        command.params += [option for option in wanted if given.isdisjoint(option.opts)]
    return command


def _strict(parameter: Any) -> None:
    """Make a parameter accept only text that a person writes: no `1_0`, no foreign digit, no half of a character.

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


@cache
def _shared() -> Mapping[str, Any]:
    """Return the shared options by name, as typer creates them. A command's function has no parameter for them."""
    from .options import shared

    holder = typer.Typer(add_completion=False, rich_markup_mode=None)
    holder.command()(shared)
    options = {option.name: option for option in typer.main.get_command(holder).params}
    for option in options.values():
        option.expose_value = False
        _strict(option)
    return options


def _is_leaf(command: Any) -> bool:
    return not hasattr(command, "commands") or command.invoke_without_command
