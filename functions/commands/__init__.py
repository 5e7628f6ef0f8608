"""Commands: ordered, versioned changes to one key (docs/commands.md). Keys, gates and versions are in `entities`.

| module     | has                                                                      |
| ---------- | ------------------------------------------------------------------------ |
| handlers   | every Lambda handler, and the environment                                |
| requests   | what comes in: types, limits, errors of a call                           |
| running    | the states of the machine                                                |
| recovery   | executions: started, woken, ended, retried; lost records and events      |
| projection | what others see of a version: targets of a synchronous command, notices  |
"""
