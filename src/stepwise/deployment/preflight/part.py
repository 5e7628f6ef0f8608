"""A part of the preflight, and its findings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from botocore.exceptions import BotoCoreError, ClientError


class Verdict(StrEnum):
    """Result of a check. LOOK: a person decides. FAILED: the deployment would fail, or lose something."""

    OK = "ok"
    LOOK = "look"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finding:
    subject: str
    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the preflight. not_reached: why the part could not finish, if so."""

    title: str
    findings: tuple[Finding, ...]
    not_reached: str | None = None

    @property
    def failed(self) -> bool:
        return any(finding.verdict is Verdict.FAILED for finding in self.findings)


class NotReached(Exception):
    """A part lacks a prerequisite. The message says what, and how to get it."""


def examined(title: str, examine: Callable[[], Iterator[Finding]]) -> Part:
    """Run a part and return its findings. A service that denies access or does not respond ends only this part.

    A validation error of a service is a finding.
    """
    findings: list[Finding] = []
    not_reached = None
    try:
        for finding in examine():
            findings.append(finding)
    except ClientError as error:
        code, message = error.response["Error"]["Code"], error.response["Error"].get("Message", "")
        if code.startswith("Validation"):
            findings.append(Finding(error.operation_name, Verdict.FAILED, message))
        else:
            not_reached = f"{error.operation_name}: {code} {message}".strip()
    except (BotoCoreError, NotReached) as reason:
        not_reached = str(reason)
    return Part(title, tuple(findings), not_reached)
