"""An AWS session like boto3's, without boto3, whose transfers and resources take a fifth of a command's start."""

from typing import Any

from botocore.credentials import RefreshableCredentials
from botocore.session import Session as BotocoreSession


class Session:
    """A session. session_vars: as of botocore's session. keys: access key and secret, instead of those of the settings.

    Raises BotoCoreError for invalid settings.
    """

    def __init__(
        self, session_vars: Any = None, region: str | None = None, keys: tuple[str, str] | None = None
    ) -> None:
        self._session = BotocoreSession(session_vars=session_vars)
        if region:
            self._session.set_config_variable("region", region)
        if keys:
            self._session.set_credentials(*keys)
        # Read now, so that a missing profile is reported here.
        self._session.get_scoped_config()

    @property
    def region_name(self) -> str | None:
        region: str | None = self._session.get_config_variable("region")
        return region

    @property
    def access_key(self) -> str:
        """Access key of the current credentials; empty without any, and for those that renew themselves."""
        found = self._session.get_credentials()
        if found is None or isinstance(found, RefreshableCredentials):
            return ""
        return str(found.access_key)

    def client(self, service: str, *, endpoint_url: str | None = None, config: Any = None) -> Any:
        return self._session.create_client(service, endpoint_url=endpoint_url, config=config)
