"""Users: the import of a CSV file of users into Amazon Connect, one outcome for every row.

handlers, upload_handlers   the Lambda handlers; tasks: what they are called with
imports                     the other states, one method each; request, files, csv_file, results: what it reads, writes
encoding                    what a file's bytes mean; retry: which results of an earlier import stand
creation                    UserCreate, on its own: user (the rules of a row), profiles, outcomes (codes and sentences)
instances                   the instance: found or created, waited for, deleted
bucket, connect             all that is said to S3 and to Amazon Connect; backoff: how long it waits for the latter
uploads                     the start by an upload; errors: why a row, or an import, fails
"""
