"""Tasks: many items, a few at once, an honest result.

A module has the handlers with one environment, so that a function is told of its own tables only.

| module          | handlers                            |
| --------------- | ----------------------------------- |
| create_handlers | create_task                         |
| launch_handlers | launch_tasks                        |
| start_handlers  | start_task (state `start`)          |
| item_handlers   | run_task_item (state `iterator`)    |
| finish_handlers | finish_task (state `finish`)        |
| end_handlers    | task_ended, sweep_tasks, retry_task |

creation, request     what is asked for; keys, state, table: what TasksTable says
types, registered     the task types; checksum, read_models: those that ship
running, queued       one item; a task of one item by the queue
finalizing, alerts    the end of an attempt, and its alarm; starting, retrying, sweep, executions
"""
