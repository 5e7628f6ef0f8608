"""Routes of changes: a confirmation form, and the change."""

from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from stepwise.operations.caller import caller

from . import changes
from .answers import Answers, form, query
from .changes import Change, Form
from .pages import PageNotFound, Problem, Visit
from .reader import Reader

_FOREIGN = Problem(
    HTTPStatus.FORBIDDEN,
    "Nothing was changed: the console was started again after this form was opened. Check the form and send it again.",
)


class ChangeRoutes:
    def __init__(self, reader: Reader, answers: Answers, known: tuple[Change, ...]) -> None:
        self._reader, self._answers = reader, answers
        self._changes = {change.name: change for change in known}

    @property
    def routes(self) -> list[Route]:
        path = "/changes/{name}"
        return [Route(path, self.ask, methods=["GET"]), Route(path, self.make, methods=["POST"])]

    async def ask(self, request: Request) -> Response:
        """Show the form of a change: its effect, and who makes it."""
        return await self._form(request, self._change(request), query(request))

    async def make(self, request: Request) -> Response:
        """Make a change, and go back to the page that requested it."""
        change, given = self._change(request), await form(request)
        if not self._answers.tokens.fits(self._answers.cookie(request), given.get(changes.TOKEN, "")):
            return await self._form(request, change, given, _FOREIGN)
        done = await self._reader.tried(lambda: self._made(change, given))
        if isinstance(done, Problem):
            return await self._form(request, change, given, done)
        return RedirectResponse(self._back(given, done), HTTPStatus.SEE_OTHER)

    def _made(self, change: Change, given: Form) -> str:
        values = changes.checked(change, given)
        return change.run(self._visit(change, given), values, given[changes.WHO].strip())

    def _back(self, given: Form, done: str) -> str:
        """Return the page to go back to, which shows the result."""
        back = urlsplit(changes.local_path(given.get(changes.BACK, "/")))
        told = f"{changes.TOLD}={self._answers.told.keep(done)}"
        return back._replace(query="&".join(filter(None, [back.query, told]))).geturl()

    def _change(self, request: Request) -> Change:
        found = self._changes.get(request.path_params["name"])
        if found is None:
            raise HTTPException(HTTPStatus.NOT_FOUND, "There is no such change.")
        if not self._reader.settings.changes:
            raise HTTPException(HTTPStatus.FORBIDDEN, "This console only reads. Start it with --allow-changes.")
        return found

    def _visit(self, change: Change, given: Form) -> Visit:
        visit = self._reader.visit({name: given.get(name, "") for name in change.parameters})
        if any(output not in visit.stack.outputs for output in change.needs):
            raise PageNotFound("This stack does not have this context.")
        return visit

    async def _form(self, request: Request, change: Change, given: Form, problem: Problem | None = None) -> Response:
        """Render the form with the given values. problem: why the change was not made."""
        found = await self._reader.read(lambda: self._asked(change, given))
        if isinstance(found, Problem):
            return self._answers.problem(request, problem or found)
        back = changes.local_path(given.get(changes.BACK, "/"))
        context = {**found, "change": change, "form": given, "back": back, "problem": problem}
        return self._answers.html(request, "change.html", context, problem.status if problem else HTTPStatus.OK)

    def _asked(self, change: Change, given: Form) -> Mapping[str, Any]:
        visit = self._visit(change, given)
        missing = {name: value for name, value in change.seen(visit).items() if not visit.asked(name)}
        visit = replace(visit, query={**visit.query, **missing})
        return {
            "hidden": visit.query,
            "effect": change.effect(visit),
            "command": self._reader.settings.command(*change.command(visit)),
            "who": given.get(changes.WHO) or caller(visit.stack),
        }
