"""Commands: ordered, versioned changes to one key.

A module has the handlers with one environment, so that a function is told of its own tables only.

| module              | handlers                                                                                |
| ------------------- | --------------------------------------------------------------------------------------- |
| publish_handlers    | publish_command                                                                         |
| handlers            | check_version, wait_prev_command, set_ttl_command, skip_command, command_ended, wake_commands |
| document_handlers   | history_copy, transform_data                                                            |
| target_handlers     | sync_data                                                                               |
| finish_handlers     | finish_command (state `finish`)                                                         |
| projection_handlers | sync_targets                                                                            |
| start_handlers      | start_commands                                                                          |
| recovery_handlers   | retry_command, sweep_commands                                                           |
"""
