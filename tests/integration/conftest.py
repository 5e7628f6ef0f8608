"""One deployed stack for all tests in this folder."""

from tests.kit.local_stack import *  # noqa: F403 # its fixtures
