"""One deployed stack for all tests of this folder."""

from tests.kit.local_stack import *  # noqa: F403 # its fixtures
