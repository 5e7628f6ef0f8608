"""Accounts: applications and checks (docs/account-opening.md), and the saga that sets an account up (docs/accounts.md).

| module     | has                                                                              |
| ---------- | -------------------------------------------------------------------------------- |
| handlers   | every Lambda handler, and the environment                                        |
| requests   | what comes in: types, limits, errors of a call                                   |
| definition | the saga account-setup as data                                                   |
| state      | the row of an application; the reasons of a flag                                 |
| table      | all access to ApplicationsTable                                                  |
| people     | how names and addresses are compared                                             |
| submission | an application and its first step                                                |
| checks     | the checks of document, address and person, on documents and screening           |
| documents  | documents in S3; screening: barred names, limits, documents that were used       |
| steps      | the saga's steps, with compensations, and its ends; processor: cards over HTTP   |
| bank       | the tables of customers, accounts, the ledger and cards; their ids               |
| recovery   | executions: of new applications; ends and records that were lost                 |
"""
