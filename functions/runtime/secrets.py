"""Secrets of AWS Secrets Manager: read at the first use and kept in memory only."""

from botocore.exceptions import BotoCoreError, ClientError

from .clients import client

_THROTTLED = frozenset({"ThrottlingException", "Throttling", "TooManyRequestsException"})


class SecretRefused(Exception):
    """The secret cannot be read, and a retry cannot help: a missing permission, a wrong ARN, or no text value."""


class SecretUnavailable(Exception):
    """Secrets Manager throttled the call or failed. A retry may help."""


class Secret:
    """One secret, given by its ARN. Neither its `repr` nor an error shows the value."""

    def __init__(self, arn: str) -> None:
        self._arn = arn
        self._value = ""

    def read(self) -> str:
        """Return the current version, read once per execution environment. Raises SecretRefused, SecretUnavailable."""
        if not self._value:
            self._value = _current(self._arn)
        return self._value

    def forget(self) -> None:
        """Let the next `read` ask Secrets Manager again, as after a rotation."""
        self._value = ""


def _current(arn: str) -> str:
    try:
        value = client("secretsmanager").get_secret_value(SecretId=arn).get("SecretString")
    except ClientError as error:
        code = error.response["Error"]["Code"]
        transient = code in _THROTTLED or error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500
        raise (SecretUnavailable if transient else SecretRefused)(f"Secrets Manager answered {code}") from error
    except BotoCoreError as error:
        raise SecretUnavailable(f"Secrets Manager: {type(error).__name__}") from error
    if not value:
        raise SecretRefused("the secret has no text value")
    return str(value)
