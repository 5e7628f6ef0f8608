"""The replay in the README prints what the README shows."""

import os
import re
import subprocess
import sys

from tests.kit.project import PATH, ROOT

_REPLAY = re.compile(r"^make faults SCENARIO='(.+)'\n```\n\n```\n(.+?)```$", re.MULTILINE | re.DOTALL)


def test_replay_prints_what_the_readme_shows() -> None:
    ((scenario, shown),) = _REPLAY.findall((ROOT / "README.md").read_text())
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, PATH))}
    # Playing patches the clock and the clients of its process.
    command = [sys.executable, "-m", "tests.faults", scenario]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)

    assert ended.stdout == shown
