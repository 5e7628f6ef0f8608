"""Keys and their versions, as commands, imports, tasks and the API read and write them (docs/commands.md).

| module              | contents                                                                  |
| ------------------- | ------------------------------------------------------------------------- |
| command             | keys, attempts, and the input of PublishCommand                           |
| document, state     | the change that a command makes; the rows of a key                        |
| tables              | all access to the tables of keys                                          |
| gate, publish       | the moves of a command, each one transaction                              |
| lagging, rebuild    | targets and gates that are behind: found, listed, rebuilt                 |
| reading             | entities now, and at an earlier moment                                    |
| types, targets      | definitions of both; registered: those that ship                          |
| products, catalog   | the type PRODUCT and its two targets                                      |
"""
