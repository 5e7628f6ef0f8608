"""Webhooks: status changes of commands, tasks, imports, orders and approvals, sent to subscribers at HTTPS addresses.

A delivery is a row. It is sent under a lease, retried for a day under the same id, and then listed as failed
(docs/webhooks.md).

| module      | has                                                                       |
| ----------- | ------------------------------------------------------------------------- |
| handlers    | every Lambda handler, and the environment                                 |
| requests    | what comes in: types, limits, errors of a call                            |
| event       | a status change, and the message that subscribers get                     |
| state       | the rows: their keys, what they say                                       |
| table       | all access to WebhooksTable                                               |
| subscribing | subscriptions: added, rotated, removed                                    |
| endpoints   | addresses and secrets in Parameter Store; signatures                      |
| addresses   | where webhooks may go                                                     |
| delivering  | deliveries, and their tries                                               |
| sending     | one HTTPS request                                                         |
| sweep       | what is due: retries, what a crash left, unused secrets                   |
"""
