"""Starts workers in a sixth of the time: MiniStack lets each load botocore and unpack all code by itself.

1. A worker is forked from a process that has loaded botocore, as Lambda's runtime has it (`worker_starter.py`).
2. Workers share unpacked code and layers, and with them Python's bytecode. On Lambda, too, both are read-only.
3. A worker that was idle for `LAMBDA_WARM_TTL_SECONDS` ends. MiniStack keeps one per function, of 27 MB.
4. An invocation in flight finishes with the code and the configuration that it began with. MiniStack kills its worker
   when the function is updated.

The first two are for speed and memory; they emulate nothing that AWS documents.
"""

import contextvars
import hashlib
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from signal import SIGKILL, SIGTERM
from types import SimpleNamespace
from typing import IO, Any

_STARTER = Path(__file__).with_name("worker_starter.py")
_lock = threading.Lock()
_starter: socket.socket | None = None
# True if workers end because their function was updated or deleted.
_updating = contextvars.ContextVar("updating", default=False)


def apply() -> None:
    """Patch the loaded MiniStack modules."""
    from ministack.core import lambda_runtime
    from ministack.services import lambda_svc

    lambda_svc.reap_idle_workers = lambda_runtime.reap_idle_workers = _reap
    lambda_svc.invalidate_worker = lambda_runtime.invalidate_worker = _updated(lambda_runtime.invalidate_worker)
    lambda_svc.release_worker = lambda_runtime.release_worker = _ending(lambda_runtime.release_worker)
    lambda_runtime.kill_workers = _after_their_calls(lambda_runtime.kill_workers)
    lambda_runtime.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": _started})
    lambda_runtime.zipfile = SimpleNamespace(**{**vars(zipfile), "ZipFile": _Archive})


def _reap(ttl: float | None = None) -> int:
    """End the workers that have been idle for this many seconds. Returns how many. MiniStack calls it every 30 s."""
    from ministack.core import lambda_runtime as runtime

    seconds, now, idle = runtime._LOCAL_WORKER_TTL if ttl is None else ttl, time.time(), list[Any]()
    with runtime._lock:
        for key, workers in list(runtime._workers.items()):
            kept = [one for one in workers if one.in_use or now - one.last_used < seconds]
            idle += [one for one in workers if one not in kept]
            if kept:
                runtime._workers[key] = kept
            else:
                del runtime._workers[key]
    runtime.kill_workers(idle)
    return len(idle)


def _updated(invalidate: Callable[..., None]) -> Callable[..., None]:
    def invalidate_worker(*args: Any, **named: Any) -> None:
        token = _updating.set(True)
        try:
            invalidate(*args, **named)
        finally:
            _updating.reset(token)

    return invalidate_worker


def _after_their_calls(kill: Callable[[list[Any]], None]) -> Callable[[list[Any]], None]:
    def kill_workers(workers: list[Any]) -> None:
        from ministack.core import lambda_runtime

        if _updating.get():
            # These left the pool, so no other invocation gets them.
            with lambda_runtime._lock:
                busy = [worker for worker in workers if worker.in_use]
                for worker in busy:
                    worker.last_call = True
            workers = [worker for worker in workers if worker not in busy]
        kill(workers)

    return kill_workers


def _ending(release: Callable[[Any], None]) -> Callable[[Any], None]:
    def release_worker(worker: Any) -> None:
        release(worker)
        if getattr(worker, "last_call", False):
            worker.kill()

    return release_worker


class _Archive(zipfile.ZipFile):
    """Unpacks each content once, and leaves links to it."""

    def extractall(self, path: Any = None, *_: Any, **__: Any) -> None:
        link, content = Path(path), Path(str(self.filename)).read_bytes()
        # With the link's name, because a function sees it as its working directory.
        folder = Path(tempfile.gettempdir(), f"unpacked-{hashlib.sha256(content).hexdigest()}", link.name)
        with _lock:
            if not folder.exists():
                folder.parent.mkdir(exist_ok=True)
                unfinished = tempfile.mkdtemp(dir=folder.parent)
                super().extractall(unfinished)
                Path(unfinished).rename(folder)
        link.rmdir()
        link.symlink_to(folder)


class _Worker:
    """The part of `subprocess.Popen` that MiniStack uses. alive: reads its end when the worker ends."""

    def __init__(self, pid: int, alive: int, stdin: IO[str], stdout: IO[str], stderr: IO[str]) -> None:
        self.pid, self.stdin, self.stdout, self.stderr = pid, stdin, stdout, stderr
        self._alive = os.fdopen(alive, "rb")

    def poll(self) -> int | None:
        """Return some status, once the worker has ended."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end. Raises TimeoutExpired."""
        status = self._ended(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return status

    def terminate(self) -> None:
        self._signal(SIGTERM)

    def kill(self) -> None:
        self._signal(SIGKILL)

    def _ended(self, timeout: float | None) -> int | None:
        poll = select.poll()
        poll.register(self._alive, select.POLLIN | select.POLLHUP)
        return 0 if poll.poll(None if timeout is None else timeout * 1000) else None

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, number)


def _started(command: list[str], **options: Any) -> Any:
    """Replace subprocess.Popen: fork from the starter if the command is a Python script."""
    if command[0] != sys.executable:
        return subprocess.Popen(command, **options)
    with ExitStack() as theirs:
        (stdin, ours_in), (ours_out, stdout), (ours_err, stderr), (ours_alive, alive) = (os.pipe() for _ in range(4))
        for fd in (stdin, stdout, stderr, alive):
            theirs.callback(os.close, fd)
        request = {"script": command[1:], "cwd": options["cwd"], "env": options["env"]}
        pid = _forked(json.dumps(request).encode(), [stdin, stdout, stderr, alive])
    return _Worker(pid, ours_alive, os.fdopen(ours_in, "w", buffering=1), os.fdopen(ours_out), os.fdopen(ours_err))


def _forked(request: bytes, fds: list[int]) -> int:
    """Return the process id of a worker. A starter that has died is replaced."""
    global _starter
    with _lock:
        for _ in range(2):
            starter = _starter = _starter or _new_starter()
            with suppress(OSError):
                starter.sendall(len(request).to_bytes(4))
                socket.send_fds(starter, [b"\0"], fds)
                starter.sendall(request)
                if answer := starter.recv(4, socket.MSG_WAITALL):
                    return int.from_bytes(answer)
            starter.close()
            _starter = None
    raise RuntimeError("no worker could be started; the emulator's log says why")


def _new_starter() -> socket.socket:
    ours, theirs = socket.socketpair()
    with theirs:
        # -P: without the folder of this file, which a worker must not see.
        command = [sys.executable, "-P", str(_STARTER), str(theirs.fileno())]
        subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
    return ours
