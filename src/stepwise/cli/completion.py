"""`stepwise completion`: completion for bash and zsh."""

from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Completion of commands and options: source what './stepwise completion bash' prints, or zsh.",
    no_args_is_help=True,
)

# The shell falls back to files if the program knows no word. $1 is the program as it was called.
_BASH = """_stepwise() {
    local IFS=$'\\n'
    COMPREPLY=($("$1" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _stepwise stepwise
"""
_ZSH = """#compdef stepwise
_stepwise() {
    local -a found
    found=(${(f)"$("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if (( $#found )); then compadd -- $found; else _files; fi
}
compdef _stepwise stepwise
"""


@app.command()
def bash() -> None:
    """Print the script for bash."""
    typer.echo(_BASH, nl=False)


@app.command()
def zsh() -> None:
    """Print the script for zsh, to be evaluated after compinit."""
    typer.echo(_ZSH, nl=False)


@app.command(hidden=True)
def words(context: typer.Context, typed: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Print the words that may stand for the last one; the scripts call it."""
    *before, last = typed or [""]
    found = _reached(context.find_root().command, before)
    for word in _candidates(found, before[-1] if before else "", last):
        if word.startswith(last):
            typer.echo(word)


def _reached(command: Any, words: list[str]) -> Any:
    """Return the command that the words lead to."""
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    return command


def _candidates(command: Any, previous: str, last: str) -> list[str]:
    for option in command.params:
        if previous in option.opts and not getattr(option, "is_flag", False):
            context = command.make_context("stepwise", [], resilient_parsing=True)
            return [str(item.value) for item in option.shell_complete(context, last) if item.type == "plain"]
    if last.startswith("-"):
        return [name for option in command.params for name in [*option.opts, *option.secondary_opts] if name[:1] == "-"]
    return [name for name, one in getattr(command, "commands", {}).items() if not getattr(one, "hidden", False)]
