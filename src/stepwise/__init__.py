"""The tools of Stepwise: command line, console, operations, deployment and the local stack."""

__version__ = "0.1.0"
STACK_NAME, STACK_ON_AWS = "stepwise", "stepwise-prod"
"""Default stack names, local and on AWS; --stack overrides them."""
