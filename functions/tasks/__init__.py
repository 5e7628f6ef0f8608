"""Tasks: many items, a few at once, an honest result (docs/tasks.md).

| module     | contents                                                               |
| ---------- | ---------------------------------------------------------------------- |
| handlers   | every Lambda handler, and the environment                              |
| requests   | input: types, limits, errors of a call                                 |
| state      | the rows: their keys and their values                                  |
| table      | all access to TasksTable                                               |
| types      | definition of a task type; registered: the types that ship             |
| creation   | all items and the task's row, or no task                               |
| running    | an attempt: its start, its items; a task of one item by the queue      |
| finalizing | the end of an attempt: its status, its alarm, its notice               |
| recovery   | executions: of new tasks and retries; ends and records that were lost  |
"""
