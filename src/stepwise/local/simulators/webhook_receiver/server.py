"""The simulator as an HTTPS server on 127.0.0.1.

Its certificate for `localhost` is created at each start, and is its own authority. The key stays in this process.
"""

import ssl
import tempfile
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from urllib.parse import urlsplit

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from stepwise.local.simulators.serving import (
    Answer,
    Asked,
    Call,
    ConnectionLost,
    SimulatorServer,
    answer,
    fault_controls,
)

from .client import HOOKS, HOST, LOOPBACK
from .faults import Drip, Drop, Endless, Fault, Hang, Injection, Interim, Status
from .receiver import Receivers

_LENGTH = 1000
_OK = f"HTTP/1.1 200 OK\r\nContent-Length: {_LENGTH}\r\nConnection: close\r\n\r\n".encode()
_LIFE = timedelta(days=30)


class Trust(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The secrets with which a receiver verifies."""

    name: str
    secrets: list[str]


class ReceiverServer(SimulatorServer):
    origin = f"https://{HOST}"

    def __init__(self) -> None:
        self.receivers = receivers = Receivers()
        self.tls = _server_context()
        self.controls = {
            ("GET", "ledger"): lambda _: receivers.ledger(),
            ("POST", "reset"): lambda _: receivers.reset(),
            ("POST", "secrets"): self._trust,
            **fault_controls(lambda: receivers.faults, Injection),
        }
        super().__init__(_Call)

    def respond(self, call: Call, body: bytes) -> Answer:
        path = urlsplit(call.path).path
        if not path.startswith(HOOKS):
            return self.problem(404, "no_such_path", "no such path")
        name, headers = path.removeprefix(HOOKS), {key.lower(): value for key, value in call.headers.items()}
        receivers = self.receivers
        with receivers.receiving(name, headers.get("webhook-id", "")):
            drawn = receivers.faults.draw(lambda one: one.name in (None, name), most=1)
            accepted = receivers.verified(name, headers, body)
            answered = _named(drawn[0].fault) if drawn else "accepted" if accepted else "refused"
            receivers.note(name, headers, body, answered)
            return _misbehave(call, drawn[0].fault) if drawn else answer(200 if accepted else 401, {})

    def _trust(self, asked: Asked) -> None:
        trust = asked.read(Trust)
        self.receivers.trust(trust.name, trust.secrets)


class _Call(Call):
    server: ReceiverServer

    def setup(self) -> None:
        # Runs in the connection's own thread, so that a hanging client blocks no other.
        with suppress(OSError):
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def handle(self) -> None:
        # The sender gave up, or does not trust the certificate.
        with suppress(OSError):
            super().handle()

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()

    def do_GET(self) -> None:
        self.close_connection = True
        super().do_GET()

    do_POST = do_GET


def _misbehave(call: Call, fault: Fault) -> Answer:
    """Return the response of a fault that has one. Raises ConnectionLost."""
    match fault:
        case Status(code, headers):
            return Answer(code, b"{}", headers)
        case Interim(codes):
            return Answer(200, b"{}", interim=codes)
        case Hang(seconds):
            # At most until the sender gives up.
            call.connection.settimeout(seconds)
            with suppress(TimeoutError):
                call.connection.recv(1)
            return answer(200, {})
        case Drip(seconds, headers):
            call.wfile.write(b"" if headers else _OK)
            for byte in _OK if headers else b"x" * _LENGTH:
                call.wfile.write(bytes([byte]))
                time.sleep(seconds)
        case Endless(code, headers):
            call.send_head(code, {**headers, "Content-Length": str(10**12)})
            while True:
                call.wfile.write(b"x" * 65536)
        case Drop():
            pass
    raise ConnectionLost


def _named(fault: Fault) -> str:
    """Name a fault for the ledger."""
    return f"{type(fault).__name__} {getattr(fault, 'code', '')}".rstrip()


def _server_context() -> ssl.SSLContext:
    """Create the server's TLS context."""
    key = ec.generate_private_key(ec.SECP256R1())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(_pem(key) + _certificate(key).public_bytes(serialization.Encoding.PEM))
        file.flush()
        context.load_cert_chain(file.name)
    return context


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Stepwise webhook receiver")])
    now, public = datetime.now(UTC), key.public_key()
    names = [x509.DNSName(HOST), x509.IPAddress(ip_address(LOOPBACK))]
    usage = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign"), False
    )
    return (
        x509.CertificateBuilder(name, name, public, x509.random_serial_number(), now - timedelta(hours=1), now + _LIFE)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True, key_cert_sign=True, encipher_only=False, decipher_only=False, **usage
            ),
            critical=True,
        )
        .sign(key, hashes.SHA256())
    )
