"""A part of the preflight, and what it finds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from botocore.exceptions import BotoCoreError, ClientError


class Verdict(StrEnum):
    """LOOK: a person decides. FAILED: the deployment would fail, or lose something."""

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
    """not_reached: why the part ended before its end, if it did."""

    title: str
    findings: tuple[Finding, ...]
    not_reached: str | None = None

    @property
    def failed(self) -> bool:
        return any(finding.verdict is Verdict.FAILED for finding in self.findings)


class NotReached(Exception):
    """What a part needs is not there. The message says what, and how to get it."""


def examined(title: str, examine: Callable[[], Iterator[Finding]]) -> Part:
    """A part with all that it found. A service that does not answer, or refuses to, ends this part alone.

    What a service says of a request's validity is a finding.
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
