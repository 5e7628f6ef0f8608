"""Changes: buttons with a confirmation. A change runs the operation of a command, in the name of a person."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import Literal

from runtime.text import is_blank
from runtime.validation import check_text
from stepwise.operations.errors import CommandError, Word

from .pages import Visit

type Form = Mapping[str, str]

WHO, BACK, TOKEN, TOLD = "who", "back", "token", "told"
"""Names of the form's own fields, and of the query parameter that shows a change's result."""
_MAX_TOLD = 256


class InvalidForm(CommandError):
    """The form lacks a value, or has one that is not allowed."""


@dataclass(frozen=True, slots=True)
class Field:
    """One input of a form. choices: those of a `choice`. value: initial value."""

    name: str
    label: str
    kind: Literal["text", "area", "number", "choice"] = "text"
    required: bool = True
    help: str = ""
    choices: tuple[str, ...] = ()
    value: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A change. name: in its address, /changes/NAME. parameters: those that the button passes, in `visit.query`.

    seen: parameters that the dialog reads unless the button passes them. The form carries them to `run`, so that a
    change affects what the dialog named, and nothing that came later.
    effect: what will happen, in a sentence. command: the words of the same command of ./stepwise.
    run: makes the change with the form's values, in a thread; returns the result, in a sentence.
    Raises CommandError if it is refused. The functions that read may raise it, too.
    """

    name: str
    title: str
    effect: Callable[[Visit], str]
    command: Callable[[Visit], Sequence[Word]]
    run: Callable[[Visit, Form, str], str]
    parameters: tuple[str, ...] = ()
    seen: Callable[[Visit], Form] = lambda _: {}
    fields: tuple[Field, ...] = ()
    needs: tuple[str, ...] = ()
    dangerous: bool = False


def checked(change: Change, form: Form) -> Form:
    """Return the values of a change's fields, stripped of white space. Raises InvalidForm."""
    values = {field.name: form.get(field.name, "").strip() for field in change.fields}
    for field in change.fields:
        _require(field, values[field.name])
        if values[field.name]:
            check_text(field.name, values[field.name], InvalidForm, lines=True)
    if is_blank(form.get(WHO, "")):
        raise InvalidForm("who: enter the name of the person who makes the change")
    check_text(WHO, form[WHO].strip(), InvalidForm)
    return values


def _require(field: Field, value: str) -> None:
    if field.required and not value:
        raise InvalidForm(f"{field.name}: this field is required")
    if value and field.kind == "choice" and value not in field.choices:
        raise InvalidForm(f"{field.name}: choose one of {', '.join(field.choices)}")
    if value and field.kind == "number" and not value.isdecimal():
        raise InvalidForm(f"{field.name}: must be a whole number, 0 or more")


def local_path(path: str) -> str:
    """Return an address of this console to go back to; the first page for a foreign address."""
    ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if ours else "/"


class Told:
    """Results of changes, for the page that the browser shows next. Keeps the last 256."""

    def __init__(self) -> None:
        self._sentences: OrderedDict[str, str] = OrderedDict()

    def keep(self, sentence: str) -> str:
        """Keep a sentence. Returns the id to show it by."""
        key = token_urlsafe(9)
        self._sentences[key] = sentence
        while len(self._sentences) > _MAX_TOLD:
            self._sentences.popitem(last=False)
        return key

    def sentence(self, key: str) -> str:
        """Return a sentence; empty if the id is unknown or too old."""
        return self._sentences.get(key, "")
