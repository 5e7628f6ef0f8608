"""DynamoDB Local, the emulator of AWS, fetched with Maven and run while needed.

Set STEPWISE_DYNAMODB_LOCAL to the address of a running one to fetch and start nothing.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from stepwise.local.emulator import emulator
from tests.kit.project import ROOT

VERSION = "3.1.0"
ADDRESS = "STEPWISE_DYNAMODB_LOCAL"
FOLDER = ROOT / ".stepwise" / "dynamodb-local"
_SERVER = "software.amazon.dynamodb.services.local.main.ServerRunner"
_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>stepwise</groupId>
  <artifactId>dynamodb-local</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>software.amazon.dynamodb</groupId>
      <artifactId>DynamoDBLocal</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""
_SECONDS_TO_START = 60


class Unavailable(Exception):
    """DynamoDB Local is not available; the message says what is missing."""


class ProgramMissing(Unavailable):
    """Java or Maven is not installed."""


@contextmanager
def serving() -> Iterator[str]:
    """Run it in memory on a free port, unless one is running; yields its address. Raises Unavailable."""
    if address := os.environ.get(ADDRESS):
        yield address
        return
    with _started(_libraries(), emulator.free_port()) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _started(libraries: Path, port: int) -> Iterator[int]:
    command = [
        "java",
        f"-Djava.library.path={libraries}",
        "-cp",
        f"{libraries}/*",
        _SERVER,
        "-inMemory",
        "-disableTelemetry",
        "-port",
        str(port),
    ]
    log = FOLDER / f"{port}.log"
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            _wait(process, port, log)
            yield port
        finally:
            process.kill()
            process.wait()
    log.unlink()


def _libraries() -> Path:
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise ProgramMissing(f"DynamoDB Local needs {program} (Java 17 and Maven) on PATH, or {ADDRESS}")
    libraries = FOLDER / f"libraries-{VERSION}"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with FileLock(FOLDER / "fetch.lock"):
        if not libraries.exists():
            _fetch(libraries)
    return libraries


def _fetch(libraries: Path) -> None:
    (FOLDER / "pom.xml").write_text(_POM)
    fetched = FOLDER / "fetched"
    shutil.rmtree(fetched, ignore_errors=True)
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={fetched}"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(f"Maven could not fetch DynamoDB Local: {done.stdout[-500:]}")
    fetched.rename(libraries)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise Unavailable(f"DynamoDB Local did not start; see {log}")
