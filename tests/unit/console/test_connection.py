"""The console's stack while the credentials that it uses are replaced."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from botocore.exceptions import ClientError

from stepwise.console.reader import Connection
from stepwise.console.settings import Settings
from stepwise.operations.stack import Stack

_DESCRIBED = (
    "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>stepwise</StackName>"
    "<StackStatus>CREATE_COMPLETE</StackStatus></member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
)
_CALLER = "<GetCallerIdentityResponse><GetCallerIdentityResult/></GetCallerIdentityResponse>"
_EXPIRED = "<ErrorResponse><Error><Code>ExpiredToken</Code><Message>expired</Message></Error></ErrorResponse>"


@dataclass
class Account:
    """An account that accepts one access key. credentials: the file that the caller keeps the key in."""

    credentials: Path
    valid: str = ""
    settings: Settings = field(default_factory=lambda: Settings(lambda: Stack.on_aws("stepwise"), str, aws=True))

    def renew(self, key: str) -> None:
        self.valid = key
        self.credentials.write_text(
            f"[default]\naws_access_key_id={key}\naws_secret_access_key=s\naws_session_token=t\n"
        )

    def answer(self, authorization: str, body: str) -> tuple[int, str]:
        if re.findall("Credential=([A-Z0-9]+)/", authorization) != [self.valid]:
            return 403, _EXPIRED
        return 200, _DESCRIBED if "Action=DescribeStacks" in body else _CALLER


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    made = Account(tmp_path / "credentials")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, text = made.answer(self.headers["Authorization"], body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(made.credentials))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield made
        server.shutdown()


def test_pages_recover_once_expired_credentials_are_replaced(account: Account) -> None:
    account.renew("ASIAOLD")
    connection = Connection(account.settings)
    connection.stack().client("sts").get_caller_identity()
    account.renew("ASIANEW")
    with pytest.raises(ClientError, match="ExpiredToken"):
        connection.stack().client("sts").get_caller_identity()

    assert connection.lost() is None
    connection.stack().client("sts").get_caller_identity()


def test_clients_are_kept_while_the_credentials_are_the_same(account: Account) -> None:
    account.renew("ASIAOLD")
    connection = Connection(account.settings)
    known = connection.stack()
    connection.lost()

    assert connection.stack() is known
    assert "ASIAOLD" not in repr(known)
