"""Approvals: a state of any machine waits until a person decides.

A module has the handlers with one environment, so that a function is told of its own table only.

| module            | handlers                           |
| ----------------- | ---------------------------------- |
| request_handlers  | request_approval                   |
| decide_handlers   | decide_approval                    |
| callback_handlers | send_callbacks                     |
| end_handlers      | approval_ended, sweep_approvals    |
| notice_handlers   | notify_approvals                   |

request          what is asked for; state, table: what ApprovalsTable says
requesting       a state asks; deciding: a person decides
callbacks        the answer to the waiting states; executions: what Step Functions says
reviewing        expiry, and executions that ended by other means; sweep
"""
