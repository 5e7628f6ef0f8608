"""Approvals: a state of any machine waits until a person decides (docs/approvals.md).

| module    | contents                                                               |
| --------- | ---------------------------------------------------------------------- |
| handlers  | every Lambda handler, and the environment                              |
| requests  | input: types, limits, errors of a call                                 |
| state     | the record of an approval                                              |
| table     | all access to ApprovalsTable                                           |
| deciding  | a state asks, a person decides                                         |
| callbacks | the answer to the waiting states, and whether it took effect           |
| recovery  | expiry, executions that ended by other means, lost records and events  |
| notices   | notices to subscribers, mail to a group                                |
"""
