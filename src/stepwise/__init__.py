"""The tools of Stepwise: command line, console, operations, deployment and the local stack."""

__version__ = "0.1.0"
STACK_NAME = "stepwise"
"""The name of a stack, unless --stack has another."""
