"""Approvals that wait for a person, and the person's decision. A token sees and decides the approvals of its groups."""

from typing import Any

from approvals.state import Approval
from approvals.table import WAITING
from idempotency.codec import to_value
from idempotency.dynamodb import read_rows
from runtime.dynamodb import dynamodb

from .answer import Answer, Problem, not_found
from .calls import invoke, located
from .cursor import cursor, limit, place, read_page
from .request import Environment, Request

# Attributes of the index; no item of tokens has them.
_PLACE = ("group", "waiting_until", "approval_id")
_SHOWN = ("approval_id", "status", "subject", "group", "requested_by", "requested_at", "due_at")


def list_approvals(request: Request, environment: Environment) -> Answer:
    """List waiting approvals, as the index has them: of a group by due time, or of all groups."""
    group = request.values.get("group")
    if request.subject is not None and not (request.groups if group is None else {group} & request.groups):
        raise _not_in(group)
    start = place(request, (str, str, str), lambda *parts: all(parts) and group in (None, parts[0]))
    query: dict[str, Any] = {"TableName": environment.approvals_table, "IndexName": WAITING, "Limit": limit(request)}
    if start:
        query["ExclusiveStartKey"] = {
            name: to_value(value, fractions=True) for name, value in zip(_PLACE, start, strict=True)
        }
    found = read_page(request, lambda: _read(query, group, request))
    last = found.get("LastEvaluatedKey")
    body = {
        "approvals": [_shown(Approval.of(item)) for item in found["Items"]],
        "cursor": cursor(request, [last[name]["S"] for name in _PLACE] if last else None),
    }
    return Answer(200, body)


def decide_approval(request: Request, environment: Environment) -> Answer:
    given = {**request.body, "approval_id": request.values["approval_id"], **_decided_by(request)}
    if request.subject is not None:
        (row,) = read_rows(dynamodb(), [(environment.approvals_table, {"approval_id": given["approval_id"]})])
        if row is None:
            raise not_found()
        if Approval.of(row).group not in request.groups:
            raise _not_in(Approval.of(row).group)
    return Answer(200, invoke(environment.decide_approval_function, given))


def _read(query: dict[str, Any], group: str | None, request: Request) -> Any:
    if group is None and request.subject is None:
        return dynamodb().scan(**query)
    if group is None:
        # An operand is a list of up to 100. A page may be short, or empty, before the last one.
        values = {
            f":group{number}": to_value(one, fractions=True) for number, one in enumerate(sorted(request.groups)[:100])
        }
        names = {"#group": "group"}
        condition = f"#group IN ({', '.join(values)})"
        return dynamodb().scan(
            **query,
            FilterExpression=condition,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
        )
    of_group: dict[str, Any] = {
        "KeyConditionExpression": "#group = :group",
        "ExpressionAttributeNames": {"#group": "group"},
        "ExpressionAttributeValues": {":group": to_value(group, fractions=True)},
    }
    return dynamodb().query(**query, **of_group)


def _not_in(group: str | None) -> Problem:
    named = "any group" if group is None else f"the group {group}"
    return Problem(403, "not-in-group", f"The token's claim cognito:groups, or else groups, does not have {named}.")


def _decided_by(request: Request) -> dict[str, str]:
    """Return who decides. A back end names the person; a token names itself, so nobody decides in another's name."""
    if request.subject is None:
        return {}
    if "decided_by" in request.body:
        message = "decided_by: only with SigV4; the subject of the token decides"
        raise Problem(422, "InvalidDecision", message, located(message))
    return {"decided_by": request.subject}


def _shown(approval: Approval) -> dict[str, Any]:
    return {name: approval.values[name] for name in _SHOWN}
