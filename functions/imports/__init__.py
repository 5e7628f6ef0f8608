"""Imports: CSV files whose every row is published as one command, once.

handlers: every Lambda handler, and the environment; requests: what comes in

creation              of imports, and the run of a DIRECT one; state, table: the rows of ImportsTable
columns, layout       the columns of a type, a file's header, and the check of a row; codes: why a row is refused
loading, rows_index   reads a file once; files: all that is said to S3
batches, publishing   one batch, one row
finalizing, results   bars, recount, results; executions: start, stop; recovery: the stream, and what was lost
archive, archive_*    reads a ZIP by ranges (ranged_file), and refuses it with a reason
zips                  the entries of a ZIP, their imports, and its end
"""
