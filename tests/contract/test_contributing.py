"""The workflow and the hooks run the commands in CONTRIBUTING."""

import re

import yaml

from tests.kit.project import ROOT

MAKEFILE = (ROOT / "Makefile").read_text()
WORKFLOW = (ROOT / ".github" / "workflows" / "check.yml").read_text()
HOOKS = (ROOT / ".pre-commit-config.yaml").read_text()


def test_workflow_runs_the_contributor_commands() -> None:
    jobs = yaml.safe_load(WORKFLOW)["jobs"]
    commands = {step["run"] for job in jobs.values() for step in job["steps"] if "run" in step}

    assert commands == {
        *("make check", "make test", "make conformance", "make test-browser", "make bench-console"),
        "make verify REQUIRE='docker advisories node'",
    }


def test_workflow_actions_are_pinned() -> None:
    actions = re.findall(r"uses: (\S+)", WORKFLOW)

    assert actions
    assert [action for action in actions if not re.fullmatch(r"actions/[\w-]+@v\d+\.\d+\.\d+", action)] == []


def test_workflow_is_read_only_and_has_a_timeout() -> None:
    workflow = yaml.safe_load(WORKFLOW)

    assert workflow["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 60 for job in workflow["jobs"].values())


def test_hooks_are_local_and_run_everything_in_make_check() -> None:
    (repository,) = yaml.safe_load(HOOKS)["repos"]
    entries = " ".join(hook["entry"] for hook in repository["hooks"])
    ((checked,),) = [re.findall(r"^check: ([a-z ]+) ##", MAKEFILE, re.MULTILINE)]

    assert repository["repo"] == "local"
    assert {target for target in checked.split() if f"make {target}" not in entries} == set()
