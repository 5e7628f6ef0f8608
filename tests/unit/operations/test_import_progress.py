"""The progress of a running import."""

import json

from stepwise.operations.user_imports import Progress, moved


def test_progress_counts_rows_done_and_failed() -> None:
    events = json.loads(
        """[
        {"type": "TaskStateEntered", "stateEnteredEventDetails": {"name": "CountCsvFiles"}},
        {"type": "MapStateEntered", "stateEnteredEventDetails": {"name": "CreateUsers"}},
        {"type": "MapStateStarted", "mapStateStartedEventDetails": {"length": 2}},
        {"type": "PassStateEntered", "stateEnteredEventDetails": {"name": "RowFailed"}},
        {"type": "MapIterationSucceeded"},
        {"type": "MapIterationSucceeded"}]"""
    )
    progress = Progress()
    for event in events:
        progress = moved(progress, event)

    assert progress == Progress("RUNNING", "CreateUsers", total=2, done=2, failed=1)
