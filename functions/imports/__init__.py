"""Imports: CSV files whose every row is published as one command, once (docs/imports.md).

| module            | has                                                                                   |
| ----------------- | ------------------------------------------------------------------------------------- |
| handlers          | every Lambda handler, and the environment                                             |
| requests          | what comes in: types, limits, errors of a call                                        |
| state             | the rows of an import and of its batches: their keys, what they say                   |
| table             | all access to ImportsTable                                                            |
| files             | all calls to ImportsBucket                                                            |
| columns, layout   | the columns of a type; a file's header, and the check of a row                        |
| codes             | why a row, or a file, is refused                                                      |
| loading           | a file, read once: its header, where its rows are, which rows another row refuses     |
| publishing        | a batch: a transaction for each row, and one record                                   |
| finalizing        | the load before the batches; the end: bars, recount, results, status                  |
| creation          | new imports, and the run of a DIRECT one                                              |
| executions        | the machines: started, stopped, waited for                                            |
| recovery          | the stream of ImportsTable; ends and records that were lost                           |
| archive           | a ZIP, read by ranges: its data, inflated under limits                                |
| archive_directory | its central directory, checked before a byte is inflated                              |
| zips              | the entries of a ZIP, their imports, and its end                                      |
"""
