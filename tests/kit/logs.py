"""The logs of functions and state machines."""

from stepwise.operations.stack import Stack


def all_logs(stack: Stack) -> str:
    """Every line of every log group."""
    client = stack.client("logs")
    groups = [
        group["logGroupName"]
        for page in client.get_paginator("describe_log_groups").paginate()
        for group in page["logGroups"]
    ]
    pages = [
        page for group in groups for page in client.get_paginator("filter_log_events").paginate(logGroupName=group)
    ]
    return "\n".join(event["message"] for page in pages for event in page["events"])
