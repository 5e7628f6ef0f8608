"""Lambda handler that publishes commands."""

from functools import cache

from entities.command import Command, publish_parser
from entities.gate import Gates
from entities.publish import Answer, Publication
from entities.registered import TYPES
from entities.state import Tables
from runtime.dynamodb import dynamodb
from runtime.handler import Call, handler
from runtime.stores import StoreEnvironment, step_store


class Environment(StoreEnvironment):
    """command_lifetime_days: how long a command's row outlives its end, unless its type says otherwise."""

    commands_table: str
    gates_table: str
    data_table: str
    history_table: str
    command_lifetime_days: int


@cache
def publication() -> Publication:
    environment = Environment()
    tables = Tables(
        environment.commands_table, environment.gates_table, environment.data_table, environment.history_table
    )
    return Publication(Gates(dynamodb(), tables), TYPES, step_store(environment), environment.command_lifetime_days)


@handler(publish_parser(TYPES), ids=("pk", "sk"))
def publish_command(command: Command, call: Call) -> Answer:
    """Publish a version of a key, for its execution to run, or finished at once."""
    return publication().publish(command, call.aws_request_id, call.at)
