"""Tasks: many items, a few at once, an honest result (docs/tasks.md).

| module     | has                                                                    |
| ---------- | ---------------------------------------------------------------------- |
| handlers   | every Lambda handler, and the environment                              |
| requests   | what comes in: types, limits, errors of a call                         |
| state      | the rows: their keys, what they say                                    |
| table      | all access to TasksTable                                               |
| types      | what a task type is; registered: the types that ship                   |
| creation   | all items and the task's row, or no task                               |
| running    | an attempt: its start, its items; a task of one item by the queue      |
| finalizing | the end of an attempt: its status, its alarm, its notice               |
| recovery   | executions: of new tasks and retries; ends and records that were lost  |
"""
