"""Commands: ordered, versioned changes to one key (docs/commands.md). Keys, gates and versions are in `entities`.

| module     | contents                                                                 |
| ---------- | ------------------------------------------------------------------------ |
| handlers   | every Lambda handler, and the environment                                |
| requests   | input: types, limits, errors of a call                                   |
| running    | the states of the machine                                                |
| recovery   | executions: started, woken, ended, retried; lost records and events      |
| projection | versions as others see them: targets of synchronous commands, notices    |
"""
