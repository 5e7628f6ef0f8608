"""User import: creates Amazon Connect users from a CSV file, with one outcome for every row. See docs/user-import.md.

handlers, requests    the Lambda handlers and their events; uploads: the start by an upload
imports               the states, one method each, except UserCreate: creation
files, csv_file       the imported file and the results; results: their rows, outcomes and sentences
retry                 which results of an earlier import are kept
user                  the rules of a row, and its profiles
instances             the instance: found or created, waited for, deleted
bucket, connect       all calls to S3 and to Amazon Connect; errors: why a row, or an import, fails
"""
