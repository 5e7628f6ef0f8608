"""Imports: CSV files whose every row is published as one command, once.

A module has the handlers with one environment, so that a function is told of its own tables only.

| module               | handlers                                  |
| -------------------- | ----------------------------------------- |
| row_handlers         | create_import, csv_rows_handler           |
| machine_handlers     | csv_loader, finalize_parent_job           |
| follow_handlers      | follow_imports, stop_import               |
| end_handlers         | import_ended, sweep_imports               |
| zip_handlers         | unzip, trigger_single_csv, finalize_zip_job |
| zip_recovery_handlers | zip_ended, sweep_zips                    |

creation, request     what is asked for; state, table, batch_record: what ImportsTable says
columns, layout       the columns of a type, a file's header, and the check of a row; codes: why a row is refused
loading, rows_index   reads a file once; files: all that is said to S3
batches, publishing   one batch, one row; direct: a whole import in the call itself
finalizing, results   bars, recount, results; following, sweep, executions: start, count, stop, and what was lost
archive, archive_*    reads a ZIP by ranges (ranged_file), and refuses it with a reason
zip_*                 the entries of a ZIP, their imports, and its end
"""
