"""A client of the HTTP API as a customer would write it: `requests` and botocore's signer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

_REGION = "us-east-1"
_TEST = Credentials("test", "test")


@dataclass(frozen=True)
class HttpClient:
    """An API client. tenant_code: empty for none. token: a JWT, not a signature. credentials: None for neither."""

    url: str
    tenant_code: str = "tenant1"
    credentials: Credentials | None = _TEST
    token: str = ""
    timeout: float = 60

    def of(self, tenant_code: str) -> "HttpClient":
        return replace(self, tenant_code=tenant_code)

    def post(self, path: str, body: Any, key: str = "", **headers: str) -> requests.Response:
        return self.send("POST", path, json=body, headers={**headers, **({"Idempotency-Key": key} if key else {})})

    def get(self, path: str, headers: Mapping[str, str] | None = None, **query: Any) -> requests.Response:
        return self.send("GET", path, params=query, headers=headers or {})

    def send(self, method: str, path: str, **request: Any) -> requests.Response:
        """Send a request. Redirects are not followed."""
        request["headers"] = {**self._headers, **request.get("headers", {})}
        prepared = requests.Request(method, f"{self.url}{path}", **request).prepare()
        if self.credentials:
            signed = AWSRequest(method, prepared.url, data=prepared.body)
            SigV4Auth(self.credentials, "execute-api", _REGION).add_auth(signed)
            prepared.headers.update(dict(signed.headers))
        with requests.Session() as session:
            return session.send(prepared, timeout=self.timeout, allow_redirects=False)

    @property
    def _headers(self) -> dict[str, str]:
        tenant = {"X-Tenant-Code": self.tenant_code} if self.tenant_code else {}
        return {**tenant, **({"Authorization": f"Bearer {self.token}"} if self.token else {})}
