"""Judges tasks by their rows, as written, and by the effects of their work."""

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING

from tasks.state import QUEUE, QUEUE_OVER
from tests.faults.actors.engine import START
from tests.faults.actors.judging import Judging
from tests.faults.actors.rows import plain
from tests.faults.seams import Document
from tests.faults.tasks.invariants import (
    AGAIN,
    ALARM,
    ANSWERS,
    COUNTERS,
    CUT,
    ENDS,
    FINAL,
    FORWARD,
    HANDLED,
    LIMIT,
    ONCE,
    OUTCOME,
    STATUS,
    THROTTLED,
    TRUE,
    WHOLE,
)
from tests.faults.tasks.plan import GOOD, TENANT

if TYPE_CHECKING:
    from tests.faults.tasks.run import Run

ENDED = {"COMPLETED", "COMPLETED_WITH_FAILURES", "FAILED"}
_OPEN = {"CREATED", "PROCESSING"}


class Judge(Judging["Run"]):
    """Judges tasks.

    tasks: rows by id; items: by id and number; for tasks that TTL has not deleted. gone: ids of the others.
    done: executions of the work, by key. works: executions of the work, by item. working: keys by actor.
    alarms: by execution. hurried: executions whose alarm was raised during a call of RetryTask.
    ends: attempts that have ended, by execution.
    """

    def __init__(self, run: "Run") -> None:
        super().__init__(run)
        self.tasks: dict[str, Document] = {}
        self.items: dict[str, dict[int, Document]] = {}
        self.gone: set[str] = set()
        self.done: Counter[str] = Counter()
        self.works: Counter[tuple[str, int]] = Counter()
        self.working: Counter[str] = Counter()
        self.alarms: Counter[str] = Counter()
        self.hurried: set[str] = set()
        self.ends: dict[str, Document] = {}
        self._new: list[str] = []
        self._ended: list[str] = []

    def named(self, task_id: str, number: int = 0) -> str:
        return f"item {number} of {self.run.label(task_id)}" if number else f"task {self.run.label(task_id)}"

    # Rows.

    def wrote(self, table: str, old: Document | None, new: Document | None) -> None:
        """Judge a written row; its transaction may still be running."""
        sk = (new or old or {}).get("sk", {}).get("S", "")
        if table != "TasksTable" or not sk.startswith("TASK#"):
            return
        task_id, _, number = sk.removeprefix("TASK#").partition("#")
        before, row = (plain(old) if old else None), (plain(new) if new else None)
        if row is None:
            assert before is not None
            self._deleted(task_id, int(number or 0), before)
        elif number:
            self._wrote_item(task_id, int(number), before, row)
        else:
            self._wrote_task(task_id, before, row)

    def _deleted(self, task_id: str, number: int, before: Document) -> None:
        if before["expires_at"] > START.timestamp() + self.run.simulation.now:
            self.broken(FINAL, f"{self.named(task_id, number)} is deleted")
        self.gone.add(task_id)

    def _wrote_task(self, task_id: str, before: Document | None, row: Document) -> None:
        self.tasks[task_id] = row
        name = self.named(task_id)
        if before is None:
            self._new.append(task_id)
            self.gone.discard(task_id)
            return
        was, now, next_one = before["status"], row["status"], row["attempt"] == before["attempt"] + 1
        if row["attempt"] != before["attempt"] and not next_one:
            self.broken(FORWARD, f"{name} from attempt {before['attempt']} to {row['attempt']}")
        if next_one and (was not in ENDED or now != "CREATED"):
            self.broken(FORWARD, f"{name} was {was}, and its next attempt is {now}")
        if not next_one and (now == "CREATED" != was or (was in ENDED and now != was)):
            self.broken(FORWARD, f"{name} from {was} to {now}")
        if now in ENDED and was not in ENDED:
            self._ended.append(task_id)
        if was in ENDED and not next_one:
            changed = {one for one in {*before, *row} if before.get(one) != row.get(one)} - {"open_since"}
            if changed:
                self.broken(FINAL, f"{name} has ended, and {sorted(changed)} change")

    def _wrote_item(self, task_id: str, number: int, before: Document | None, row: Document) -> None:
        items = self.items.setdefault(task_id, {})
        items[number] = row
        task, name = self.tasks.get(task_id), self.named(task_id, number)
        if before is None or task is None or task_id in self._new or number > task["total_items"]:
            if row["status"] != "CREATED":
                self.broken(FORWARD, f"{name} begins as {row['status']}")
            return
        was, now, newer = before["status"], row["status"], row["attempt"] > before["attempt"]
        right = {
            "CREATED": now in {"PROCESSING", "FAILED"},
            "PROCESSING": now in {"PROCESSING", "COMPLETED", "FAILED"},
            "FAILED": newer and now in {"PROCESSING", "FAILED"},
        }
        if not right.get(was, False) or row["attempt"] < before["attempt"] or row["attempt"] > task["attempt"]:
            self.broken(FORWARD, f"{name} from {was} in {before['attempt']} to {now} in {row['attempt']}")
        if task["status"] in ENDED:
            self.broken(FINAL, f"{name} is {now}, and its task has ended")
        if now == "COMPLETED":
            self._judge_result(task_id, number, row)
        if now == "FAILED" and self.working[f"{task_id} {number}"] > 0:
            self.broken(CUT, f"{name} is {now}, and its work goes on")

    def _judge_result(self, task_id: str, number: int, row: Document) -> None:
        key = (row.get("result") or {}).get("key")
        if not self.works[task_id, number] or key != work_key(task_id, number, row["round"]):
            done = self.works[task_id, number]
            self.broken(TRUE, f"{self.named(task_id, number)} is COMPLETED with {key}, and was done {done} times")

    def moment(self) -> None:
        """Judge the rows after a request, which has made all of its writes, or none."""
        while self._new:
            self._judge_whole(self._new.pop())
        while self._ended:
            self._judge_end(self._ended.pop())

    def _judge_whole(self, task_id: str) -> None:
        """Judge that a task's creation was invisible until it was complete."""
        total, items = self.tasks[task_id]["total_items"], self.items.get(task_id, {})
        found = [items[number]["item"] if number in items else None for number in range(1, total + 1)]
        if found not in self.run.asked[task_id] and found not in self.run.asked[""]:
            self.broken(WHOLE, f"{self.named(task_id)} has {found}")
        if any(items[number]["status"] != "CREATED" for number in range(1, total + 1) if number in items):
            self.broken(WHOLE, f"{self.named(task_id)} begins with items that have run")

    def statuses(self, task_id: str) -> list[str]:
        """Return the statuses of a task's items."""
        total, items = self.tasks[task_id]["total_items"], self.items.get(task_id, {})
        return [str(items.get(number, {}).get("status")) for number in range(1, total + 1)]

    def _judge_end(self, task_id: str) -> None:
        row, name = self.tasks[task_id], self.named(task_id)
        statuses = self.statuses(task_id)
        self.run.say(f"{name} {row['status']} in {row['attempt']}: {' '.join(statuses)}")
        self.ends[execution(task_id, row["attempt"])] = row
        completed = statuses.count("COMPLETED")
        whole, none = completed == len(statuses), not completed
        right = {"COMPLETED": whole, "FAILED": not whole and (none or "error" in row)}
        if not right.get(row["status"], not (whole or none)):
            self.broken(STATUS, f"{name} is {row['status']}: {statuses}")
        if (row["completed_items"], row["failed_items"]) != (completed, statuses.count("FAILED")):
            self.broken(COUNTERS, f"{name}: {row['completed_items']} and {row['failed_items']} of {statuses}")
        if "error" in row and self.run.cuts_off(self.run.engine.execution(execution(task_id, row["attempt"]))):
            self.broken(CUT, f"{name} is {row['status']}, and its execution goes on")
        if not _OPEN.isdisjoint(statuses):
            self.broken(ENDS, f"{name} is {row['status']}: {statuses}")

    # Work.

    def _item_of(self, key: str) -> tuple[str, int]:
        digest, number, _ = key.split("-")
        return next(one for one in self.tasks if execution(one, 1).startswith(digest)), int(number)

    def work_begins(self, key: str, *, awaited: bool) -> None:
        task_id, number = self._item_of(key)
        if self.items[task_id][number]["status"] == "COMPLETED":
            self.broken(AGAIN, self.named(task_id, number))
        if awaited:
            self.working[f"{task_id} {number}"] += 1
            at_once = [one for one, count in self.working.items() if count and one.startswith(f"{task_id} ")]
            if len(at_once) > self.run.plan.limit:
                self.broken(LIMIT, f"{self.named(task_id)}: {len(at_once)} items at once")

    def work_ends(self, key: str, *, awaited: bool) -> None:
        task_id, number = self._item_of(key)
        self.working[f"{task_id} {number}"] -= awaited

    def work_is_done(self, key: str) -> None:
        task_id, number = self._item_of(key)
        self.done[key] += 1
        self.works[task_id, number] += 1
        if self.tasks[task_id]["task_type"] != "repeatable" and self.works[task_id, number] > 1:
            self.broken(ONCE, f"{self.named(task_id, number)} is done {self.works[task_id, number]} times")

    def handled(self, task_id: str) -> None:
        """Judge a message of the queue that was handled."""
        row = self.tasks[task_id]
        if row["mode"] == QUEUE and row.get("error", {}).get("type") == QUEUE_OVER:
            self.broken(HANDLED, f"{self.named(task_id)} is {row['status']} in {row['attempt']}")

    # Alarms.

    def alarmed(self, message: str) -> None:
        """Judge an alarm."""
        content = json.loads(message)["content"]
        self.alarms[content["execution"]] += 1
        if self.run.retrying:
            self.hurried.add(content["execution"])
        row = self.ends.get(content["execution"])
        if row is None or row["status"] == "COMPLETED":
            self.broken(ALARM, f"an alarm of what has not failed: {content}")
        elif f"{row['status']}: {row['failed_items']} of {row['total_items']} items" not in content["error_message"]:
            self.broken(ALARM, f"{row['status']}, {row['failed_items']}: {content['error_message']}")

    # The end of a run.

    def at_last(self) -> None:
        """Judge the end of a run, when nothing happens any more."""
        for task_id in self.tasks:
            if task_id not in self.gone:
                self._judge_last(task_id)
        for name, row in self.ends.items():
            wanted = int(row["status"] != "COMPLETED")
            # A retry does not wait for the call that ends the attempt: it raises the alarm itself.
            once = not self.run.disturbed and name not in self.hurried
            if self.alarms[name] < wanted or (self.alarms[name] > wanted and once):
                self.broken(ALARM, f"{self.named(row['task_id'])}: {self.alarms[name]} alarms of {row['status']}")
        for one in self.run.engine.executions():
            if one["status"] == "RUNNING":
                self.broken(ENDS, f"an execution runs forever: {one['input']}")

    def _judge_last(self, task_id: str) -> None:
        row, name = self.tasks[task_id], self.named(task_id)
        if row["status"] not in ENDED or "open_since" in row:
            self.broken(ENDS, f"{name} is {row['status']}, {'open_since' in row}")
            return
        if len(row["history"]) != row["attempt"] - 1:
            self.broken(ANSWERS, f"{name} has {len(row['history'])} attempts before {row['attempt']}")
        for number in range(1, row["total_items"] + 1):
            item = self.items[task_id][number]
            good = item["item"]["text"].startswith(GOOD)
            if self.run.only_throttled and "TooManyRequests" in str(item.get("error")):
                self.broken(THROTTLED, f"{self.named(task_id, number)}: {item['error']}")
            if not self.run.disturbed and good != (item["status"] == "COMPLETED"):
                self.broken(OUTCOME, f"{self.named(task_id, number)} is {item['status']}: {item.get('error')}")


def execution(task_id: str, attempt: int) -> str:
    """Return the name of an attempt's execution."""
    return f"{_digest(task_id)}-{attempt}"


def work_key(task_id: str, number: int, round: int) -> str:
    """Return the key of an item's work."""
    return f"{_digest(task_id)}-{number}-{round}"


def _digest(task_id: str) -> str:
    return hashlib.sha256(f"{TENANT}\n{task_id}".encode()).hexdigest()[:40]
