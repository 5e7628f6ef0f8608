"""Options of most commands: which stack to use."""

from typing import Annotated

import typer

from local.emulator.emulator import endpoints_beside
from operations.stack import STACK_NAME, Stack

DEFAULT_PORT = 4566

Port = Annotated[int, typer.Option(envvar="STEPWISE_PORT", help="Port of the local stack.")]
OnAws = Annotated[bool, typer.Option("--aws", help="Use the stack in the AWS account of your settings.")]
StackName = Annotated[str, typer.Option("--stack", help="Name of the stack.")]


def chosen_stack(port: int, aws: bool, name: str) -> Stack:
    """A stack at a local port, or one on AWS. Raises StackNotFound."""
    return Stack.on_aws(name) if aws else Stack.local(f"http://127.0.0.1:{port}", name, endpoints_beside(port))


def again(port: int, aws: bool, name: str) -> str:
    """The options that choose the same stack in another command; empty for the default."""
    where = " --aws" if aws else f" --port {port}" if port != DEFAULT_PORT else ""
    return where + (f" --stack {name}" if name != STACK_NAME else "")
