"""Commands, and the entities that they create."""

from datetime import datetime
from typing import Any
from urllib.parse import quote

from entities.command import Key
from entities.reading import Moment, NoSuchVersion, as_of, entity_of
from entities.state import CommandRow, Gate
from entities.tables import States, Tables
from idempotency.dynamodb import read_rows
from runtime.dynamodb import dynamodb

from .answer import Answer, Problem, not_found
from .calls import invoke
from .cursor import cursor, limit, place
from .request import Environment, Request


def publish_command(request: Request, environment: Environment) -> Answer:
    body = dict(request.body)
    if body["pk"] != f"TENANT#{request.tenant_code}":
        raise not_found()
    if request.key and not body.keys() & {"version", "request_id"}:
        body["request_id"] = request.digest
    answer = invoke(environment.publish_command_function, {**body, "tenant_code": request.tenant_code})
    if body.get("mode") == "sync":
        return Answer(200, answer)
    return Answer(202, answer, {"location": f"/keys/{_encoded(body['pk'])}/{_encoded(body['sk'])}/versions"})


def show_key(request: Request, environment: Environment) -> Answer:
    key, tables = _key(request), _tables(environment)
    try:
        entity = _newest(tables, key) if "at" not in request.values else _earlier(request, tables, key)
    except NoSuchVersion as error:
        raise not_found(str(error)) from None
    etag = f'"{entity["version"]}"'
    if _matches(request.headers.get("if-none-match", ""), etag):
        return Answer(304, None, {"etag": etag})
    return Answer(200, entity, {"etag": etag})


def list_versions(request: Request, environment: Environment) -> Answer:
    key, tables = _key(request), _tables(environment)
    states = States(dynamodb(), tables)
    gate = states.gate(key)
    if gate is None:
        raise not_found()
    start = place(request, (int,), lambda version: 1 <= version <= gate.published)
    newest = start[0] if start else gate.published
    oldest = max(1, newest - limit(request) + 1)
    versions = list(range(newest, oldest - 1, -1))
    # A command's row may have 100 KiB, and only this row says more than the gate.
    running = states.command(key, gate.turn) if gate.pending else None
    body = {
        **key.row,
        "published": gate.published,
        "finished": gate.finished,
        "waits_for": _of(gate, gate.turn, running)[1] if gate.pending else None,
        "versions": [_standing(gate, version, running) for version in versions],
        "cursor": cursor(request, [oldest - 1] if oldest > 1 else None),
    }
    return Answer(200, body)


def _key(request: Request) -> Key:
    if request.values["pk"] != f"TENANT#{request.tenant_code}":
        raise not_found()
    return Key(request.values["pk"], request.values["sk"])


def _tables(environment: Environment) -> Tables:
    return Tables(
        environment.commands_table, environment.gates_table, environment.data_table, environment.history_table
    )


def _newest(tables: Tables, key: Key) -> dict[str, Any]:
    (row,) = read_rows(dynamodb(), [(tables.data, key.row)])
    if row is None:
        raise NoSuchVersion("no version has finished")
    return entity_of(row)


def _earlier(request: Request, tables: Tables, key: Key) -> dict[str, Any]:
    return as_of(dynamodb(), tables, key, _moment(request.values["at"]))


def _moment(text: str) -> Moment:
    if text.isdecimal():
        return int(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        errors = [{"parameter": "at", "detail": "must be a version, or a time that a clock and a calendar can show"}]
        raise Problem(400, "invalid-request", "The request is not valid; nothing was written.", errors) from None


def _matches(given: str, etag: str) -> bool:
    tags = {one.strip().removeprefix("W/") for one in given.split(",")}
    return etag in tags or "*" in tags


def _standing(gate: Gate, version: int, running: CommandRow | None) -> dict[str, Any]:
    """Return the state of a version, or what it waits for. running: the command whose turn it is."""
    status, waits_for = _of(gate, version, running)
    return {"version": version, "status": status, "waits_for": waits_for}


def _of(gate: Gate, version: int, running: CommandRow | None) -> tuple[str, str | None]:
    if version <= gate.finished:
        return "done", None
    if version in gate.dead:
        return "dead", "an operator: retry or skip it"
    if version == gate.turn:
        return "running", f"its state {running.state}" if running else "its execution"
    return "waiting", f"version {version - 1}"


def _encoded(text: str) -> str:
    return quote(text, safe="")
