"""A process that has loaded the modules of the Lambda runtime, and is forked for each worker. `workers.py` starts it.

It is a separate file and imports nothing of this checkout, because a worker must see only deployed code. It has no
threads, so that a fork is safe.
"""

import gc
import json
import os
import runpy
import signal
import socket
import sys
import time
from typing import Any

import botocore.client
import botocore.handlers
import botocore.session  # noqa: F401


def main(requests: socket.socket) -> None:
    """Fork for each request, until the other end is closed. A fork returns from here as the worker."""
    # Nobody needs to wait for ended workers.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()
    while size := _received(requests, 4):
        request, fds = _request(requests, int.from_bytes(size))
        pid = os.fork()
        if not pid:
            requests.close()
            _become(request, fds)
            return
        for fd in fds:
            os.close(fd)
        requests.sendall(pid.to_bytes(4))


def _received(requests: socket.socket, size: int) -> bytes:
    """Receive this many bytes, or none at the end."""
    return requests.recv(size, socket.MSG_WAITALL)


def _request(requests: socket.socket, size: int) -> tuple[Any, list[int]]:
    """Receive a request. fds: standard input, output and error, and one that only has to stay open."""
    _, fds, _, _ = socket.recv_fds(requests, 1, 4)
    return json.loads(_received(requests, size)), fds


def _become(request: Any, fds: list[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, fd in enumerate(fds[:3]):
        os.dup2(fd, number)
        os.close(fd)
    # Programs that the worker starts must not keep it alive.
    os.set_inheritable(fds[3], False)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    sys.argv = request["script"]
    # As Python does for a script.
    sys.path.insert(0, os.path.dirname(sys.argv[0]))


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
    if sys.argv[0] != __file__:
        runpy.run_path(sys.argv[0], run_name="__main__")
