"""Imports of rows. A file is uploaded with a presigned link, into the tenant's own folder."""

import uuid
from functools import partial
from typing import Any

from idempotency.codec import to_value
from imports.state import STEP_FUNCTION, TOTALS, Import, ImportKey
from imports.table import ImportsTable
from runtime.clients import presigning_client
from runtime.dynamodb import dynamodb

from .answer import Answer, Problem, not_found
from .calls import invoke, located
from .cursor import cursor, limit, place, read_page
from .request import Environment, Request

LINK_SECONDS = 900
_SHOWN = ("import_id", "key", "type", "processing_mode", "validated", "retry_of", "entries", "error", *TOTALS)
_TIMES = ("created_at", "updated_at", "ended_at")
_FIRST = "IMPORT#"
# Rows of batches that lie between imports are skipped, one page per import.
_MAX_PAGES = 20


def create_import(request: Request, environment: Environment) -> Answer:
    """Create an import. The machine runs a DIRECT import, which may take longer than API Gateway waits."""
    body = dict(request.body)
    if "key" not in body and "retry_of" not in body:
        return _upload(request)
    if "file_name" in body:
        raise _invalid("file_name: only without a key, for a link to upload the file to")
    if "key" in body and not body["key"].startswith(_folder(request)):
        raise not_found("key: no such file of this tenant")
    named = {"import_id": request.digest[:32]} if request.key else {}
    given = {**body, **named, "tenant_code": request.tenant_code, "processing_mode": STEP_FUNCTION}
    import_id = invoke(environment.create_import_function, given)["import_id"]
    return Answer(202, {"import_id": import_id}, {"location": f"/imports/{import_id}"})


def finish_create_import(_: Request, environment: Environment, answer: Answer) -> Answer:
    """Add the link, which is not stored, because it expires and is a credential."""
    if answer.status != 201:
        return answer
    parameters = {"Bucket": environment.imports_bucket, "Key": answer.body["key"]}
    return answer.having(upload_url=_link("put_object", parameters))


def list_imports(request: Request, environment: Environment) -> Answer:
    """List imports in the order of their ids."""
    start = place(request, (str,), lambda after: after.startswith(_FIRST))
    after: str | None = start[0] if start else _FIRST
    found: list[Import] = []
    wanted = request.values.get("key")
    for _ in range(_MAX_PAGES):
        if after is None or len(found) >= limit(request):
            break
        imports, after = _page(request, environment, after, limit(request) - len(found))
        found += [made for made in imports if wanted in (None, made.values["key"])]
    return Answer(
        200, {"imports": [_shown(made) for made in found], "cursor": cursor(request, [after] if after else None)}
    )


def show_import(request: Request, environment: Environment) -> Answer:
    return Answer(200, _shown(_find(request, environment)))


def get_results(request: Request, environment: Environment) -> Answer:
    key = _find(request, environment).values.get("results", {}).get(request.values["name"])
    if key is None:
        raise not_found("The import has no such file of results, or has not ended.")
    return Answer(302, None, {"location": _link("get_object", {"Bucket": environment.imports_bucket, "Key": key})})


def _upload(request: Request) -> Answer:
    if set(request.body) != {"file_name"}:
        raise _invalid("file_name: required, and alone, without key and retry_of")
    name = request.digest[:32] if request.key else uuid.uuid4().hex
    return Answer(201, {"key": f"{_folder(request)}{name}/{request.body['file_name']}"})


def _folder(request: Request) -> str:
    return f"uploads/{request.tenant_code}/"


def _find(request: Request, environment: Environment) -> Import:
    found = ImportsTable(dynamodb(), environment.imports_table).find(
        ImportKey(request.tenant_code, request.values["import_id"])
    )
    if found is None:
        raise not_found()
    return found


def _page(request: Request, environment: Environment, after: str, count: int) -> tuple[list[Import], str | None]:
    """Return imports after this sort key, and where to continue."""
    query = partial(
        dynamodb().query,
        TableName=environment.imports_table,
        KeyConditionExpression="pk = :pk AND sk > :after",
        ExpressionAttributeValues={
            ":pk": to_value(ImportKey(request.tenant_code, "").pk, fractions=True),
            ":after": to_value(after, fractions=True),
        },
        Limit=count,
    )
    answer = read_page(request, query)
    imports = [Import.of(item) for item in answer["Items"] if item["kind"]["S"] == "import"]
    if "LastEvaluatedKey" not in answer:
        return imports, None
    before, batch, _ = answer["LastEvaluatedKey"]["sk"]["S"].partition("#BATCH#")
    # "$" sorts after "#" and before "-", which continues the ids of a ZIP's children.
    return imports, f"{before}$" if batch else before


def _shown(found: Import) -> dict[str, Any]:
    return {
        **{name: found.values[name] for name in (*_SHOWN, *_TIMES) if name in found.values},
        "status": str(found.status),
        "reasons": found.values.get("reasons", []),
        "results": sorted(found.values.get("results", {})),
        "waits_for": _waits_for(found),
    }


def _waits_for(made: Import) -> str | None:
    if made.status.final:
        return None
    if made.zip:
        return "the imports of its entries" if "entries" in made.values else "its archive to be read"
    return "its rows" if made.loaded else "its file to be read"


def _link(operation: str, parameters: dict[str, str]) -> str:
    link: str = presigning_client().generate_presigned_url(operation, Params=parameters, ExpiresIn=LINK_SECONDS)
    return link


def _invalid(message: str) -> Problem:
    return Problem(422, "InvalidImport", message, located(message))
