"""The tools of Stepwise: command line, console, operations, deployment and the local stack."""
