"""User import: creates Amazon Connect users from a CSV file, with one outcome for every row.

handlers, upload_handlers   the Lambda handlers; tasks: their events
imports                     the other states, one method each; request, files, csv_file, results: its inputs and outputs
encoding                    detects and checks a file's encoding; retry: which results of an earlier import are kept
creation                    UserCreate, on its own: user (the rules of a row), profiles, outcomes (codes and sentences)
instances                   the instance: found or created, waited for, deleted
bucket, connect             all that is said to S3 and to Amazon Connect; backoff: how long it waits for the latter
uploads                     the start by an upload; errors: why a row, or an import, fails
"""
