"""Commands: ordered, versioned changes to one key.

A module has the handlers that read the same environment, so that a function is told of its own tables only:

| module               | handlers                                                                           | environment          |
| -------------------- | ---------------------------------------------------------------------------------- | -------------------- |
| publish_handlers     | publish_command                                                                    | COMMANDS_TABLE, GATES_TABLE, DATA_TABLE, HISTORY_TABLE, COMMAND_LIFETIME_DAYS, IDEMPOTENCY_TABLE, RECORD_LIFETIME_DAYS |
| handlers             | check_version, wait_prev_command, set_ttl_command, skip_command, command_ended, wake_commands | COMMANDS_TABLE, GATES_TABLE, COMMAND_LIFETIME_DAYS |
| document_handlers    | history_copy, transform_data                                                       | COMMANDS_TABLE, GATES_TABLE, DATA_TABLE |
| target_handlers      | sync_data                                                                          | COMMANDS_TABLE, GATES_TABLE, DATA_TABLE, PRODUCTS_TABLE, CATALOG_BUCKET |
| finish_handlers      | finish_command (state `finish`)                                                    | COMMANDS_TABLE, GATES_TABLE, DATA_TABLE, HISTORY_TABLE, PRODUCTS_TABLE, CATALOG_BUCKET |
| projection_handlers  | sync_targets                                                                       | GATES_TABLE, PRODUCTS_TABLE, CATALOG_BUCKET |
| start_handlers       | start_commands                                                                     | COMMAND_ARN |
| recovery_handlers    | retry_command, sweep_commands                                                      | COMMANDS_TABLE, GATES_TABLE, COMMAND_LIFETIME_DAYS, COMMAND_ARN |

check_version returns {"result": 0 | 1 | -1}; transform_data the list of the targets' names; the others of the machine {}.
Errors worth a retry: Contention, StoreUnavailable, TargetUnavailable (sync_data, finish), ExecutionsUnavailable.
sweep_commands logs "swept" with pending, blocked and lagging; it reads the indexes `pending_since` and `lagging_since`.
"""
