"""An issuer of JSON Web Tokens, which serves its keys over HTTP."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

AUDIENCE = "stepwise"
_KEY_ID = "k-1"


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _number(value: int) -> str:
    return _encoded(value.to_bytes((value.bit_length() + 7) // 8))


@dataclass(frozen=True)
class TokenIssuer:
    """An issuer. url: the claim iss of its tokens."""

    url: str
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))

    def token(self, scope: str = "", **claims: Any) -> str:
        """A signed token of a client, valid for an hour."""
        now = int(time.time())
        own = {"iss": self.url, "aud": AUDIENCE, "sub": "client-1", "iat": now, "exp": now + 3600, "scope": scope}
        parts = [{"alg": "RS256", "kid": _KEY_ID}, {**own, **claims}]
        text = ".".join(_encoded(json.dumps(part).encode()) for part in parts)
        return f"{text}.{_encoded(self.key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    @property
    def keys(self) -> dict[str, Any]:
        public = self.key.public_key().public_numbers()
        numbers = {"n": _number(public.n), "e": _number(public.e)}
        return {"keys": [{"kty": "RSA", "kid": _KEY_ID, "alg": "RS256", "use": "sig", **numbers}]}


@contextmanager
def token_issuer() -> Iterator[TokenIssuer]:
    """An issuer on a free port."""
    made: list[TokenIssuer] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer = made[0]
            found = {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/keys"} if "config" in self.path else issuer.keys
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        def log_message(self, *_: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        made.append(TokenIssuer(f"http://127.0.0.1:{server.server_port}"))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield made[0]
        server.shutdown()
