"""Expected results of the sample events of commands, and the state that each needs."""

import json
from collections.abc import Mapping
from typing import Any

from stepwise.operations.stack import Stack
from tests.kit.project import ROOT, read_json
from tests.kit.sample_events.expected import Expected, Given, invoked

_EVENTS = ROOT / "events" / "commands"
_COMMAND = read_json(_EVENTS / "publish_command.json")
_KEY = {name: _COMMAND[name] for name in ("pk", "sk")}


def published(versions: int) -> Given:
    """Publish this many versions, so that it is the last one's turn."""

    def given(stack: Stack, _: Any) -> Mapping[str, str]:
        for version in range(1, versions + 1):
            mode = "async" if version == versions else "sync"
            invoked(stack, "PublishCommand", {**_COMMAND, "version": version, "mode": mode})
        task = "set_ttl_command" if versions == 1 else "finish_command"
        invoked(stack, "SetTtlCommand", read_json(_EVENTS / f"{task}.json"))
        return {}

    return given


def waiting(stack: Stack, _: Any) -> Mapping[str, str]:
    """Publish two versions, of which none has finished."""
    for version in (1, 2):
        invoked(stack, "PublishCommand", {**_COMMAND, "version": version})
    return {}


def dead(stack: Stack, event: Any) -> Mapping[str, str]:
    """Let version 1 die."""
    published(1)(stack, event)
    invoked(stack, "CommandEnded", read_json(_EVENTS / "command_ended.json"))
    return {}


def finished(stack: Stack) -> Any:
    gate = _row(stack, "GatesTable")
    return int(gate["finished"]) if gate else None


def is_dead(stack: Stack) -> Any:
    gate = _row(stack, "GatesTable")
    return bool(gate and gate.get("dead"))


def shown(stack: Stack) -> Any:
    """The version in ProductsTable."""
    pointer = _row(stack, "ProductsTable")
    return int(pointer["version"]) if pointer else None


def cataloged(stack: Stack) -> Any:
    """The version in CatalogBucket."""
    found = stack.client("s3").get_object(Bucket=stack.outputs["CatalogBucket"], Key="tenant1/products/tea-01.json")
    return json.loads(found["Body"].read())["version"]


def history(stack: Stack) -> int:
    return len(stack.rows("HistoryTable"))


def _row(stack: Stack, table: str) -> Any:
    return stack.row(table, **_KEY)


_NO_FAILURES: Mapping[str, Any] = {"batchItemFailures": []}
_PUBLISHED = {"version": 1, "status": "published"}
_FINISHED = {"version": 1, "status": "finished"}
_DUPLICATE = {"version": 1, "status": "duplicate"}

EXPECTED: dict[str, Expected] = {
    "publish_command": Expected(_PUBLISHED, again=_DUPLICATE, leaves={finished: 0}),
    "publish_command_invalid": Expected(error="InvalidCommand", leaves={finished: None}),
    "publish_command_next": Expected(_PUBLISHED, again=_DUPLICATE, leaves={finished: 0}),
    "publish_command_next_sync": Expected(_FINISHED, again=_DUPLICATE, leaves={finished: 1}),
    "publish_command_sync": Expected(_FINISHED, again=_DUPLICATE, leaves={finished: 1}),
    "check_version": Expected({"result": 0}, given=published(1)),
    "check_version_stale": Expected({"result": -1}, given=published(1)),
    "wait_prev_command": Expected({}, given=waiting, leaves={finished: 0}),
    "set_ttl_command": Expected({}, given=published(1)),
    "history_copy": Expected({}, given=published(2)),
    "transform_data": Expected(["products", "catalog"], given=published(1)),
    "sync_data": Expected({}, given=published(1), leaves={shown: 1, finished: 0}),
    "sync_data_catalog": Expected({}, given=published(1), leaves={cataloged: 1, finished: 0}),
    "finish_command": Expected({}, given=published(2), leaves={finished: 2, history: 1, shown: 2}),
    "start_commands": Expected(_NO_FAILURES, given=published(1)),
    "notify_commands": Expected(_NO_FAILURES),
    "wake_commands": Expected(_NO_FAILURES, given=published(1)),
    "wake_commands_blocked": Expected(_NO_FAILURES),
    "sync_targets": Expected(_NO_FAILURES, leaves={shown: 1, cataloged: 1}),
    "sync_targets_unfit": Expected(_NO_FAILURES, leaves={shown: None}),
    "command_ended": Expected(given=published(1), leaves={is_dead: True, finished: 0}),
    "sweep_commands": Expected({"failed": 0}, again={"failed": 0}, given=published(1)),
    "retry_command": Expected(
        {"versions": [1], "status": "retried"}, again_error="NotBlocked", given=dead, leaves={is_dead: False}
    ),
    "skip_command": Expected(
        {"version": 1, "status": "skipped"}, again_error="NotBlocked", given=dead, leaves={finished: 1}
    ),
}
