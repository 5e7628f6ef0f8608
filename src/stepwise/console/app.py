"""The console of one stack, as an ASGI application."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from . import (
    applications,
    approvals,
    attention,
    import_pages,
    keys,
    leases,
    orders,
    rendering,
    reports,
    runs,
    stock,
    tasks,
)
from .answers import Answers
from .change_routes import ChangeRoutes
from .changes import Change
from .page_routes import PageRoutes
from .pages import Page
from .reader import Reader
from .security import Guard
from .settings import Settings

PAGES: tuple[Page, ...] = (
    *runs.PAGES,
    *orders.PAGES,
    *attention.PAGES,
    *import_pages.PAGES,
    *keys.PAGES,
    *approvals.PAGES,
    *applications.PAGES,
    *tasks.PAGES,
    *stock.PAGES,
    *leases.PAGES,
    *reports.PAGES,
)
CHANGES: tuple[Change, ...] = (
    *orders.CHANGES,
    *attention.CHANGES,
    *import_pages.CHANGES,
    *keys.CHANGES,
    *approvals.CHANGES,
    *applications.CHANGES,
    *tasks.CHANGES,
    *stock.CHANGES,
    *leases.CHANGES,
)


@dataclass(frozen=True, slots=True)
class Console:
    """The console. close: ends all streams, so that a server can end."""

    application: ASGIApp
    close: Callable[[], None]


def create(settings: Settings) -> Console:
    reader = Reader(settings)
    answers = Answers(reader, PAGES)
    pages, forms = PageRoutes(reader, answers, PAGES), ChangeRoutes(reader, answers, CHANGES)
    files = Mount("/static", _Static(directory=rendering.STATIC))
    inside = Starlette(
        routes=[*pages.routes, *forms.routes, files],
        exception_handlers={HTTPException: answers.refused, Exception: answers.failed},
    )
    # Outermost, so that the response to a defect has its headers, too.
    return Console(Guard(inside), pages.close)


class _Static(StaticFiles):
    """Files that a browser revalidates each time, because they change with the program."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        answer = super().file_response(*arguments, **options)
        answer.headers["cache-control"] = "no-cache"
        return answer
