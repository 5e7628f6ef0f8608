"""Addresses that webhooks may use: HTTPS, with a host name that resolves only to public IP addresses.

A name is resolved once. Every address that it resolves to is checked, and the connection goes to one of these.
"""

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from .errors import AddressRefused, InvalidWebhook

type Ip = ipaddress.IPv4Address | ipaddress.IPv6Address
type Resolve = Callable[[str, int], Sequence[str]]
"""From host and port to IP addresses. Raises OSError."""

MAX_URL = 2048
_PORT = 443
_SCHEME = "https://"
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"(?=.{{1,253}}\Z)(?:{_LABEL}\.)*{_LABEL}")
# Resolvers read a name whose last part is a number as an IPv4 address: 127.1, 2130706433, 0x7f.1, 0177.0.0.1.
_NUMBER = re.compile(r"(?:.*\.)?(?:0x[0-9a-f]*|[0-9]+)")
_PORT_TEXT = re.compile(r"[1-9][0-9]{0,4}")
_SECRET_PART = re.compile(r"[^/]{16,}")

# IANA's registries of special purposes, as of 2026, where `ipaddress` lacks a block or calls it global: anycast to the
# next NAT or relay, AS112, 6to4, documentation. And the metadata service of another cloud.
_NEVER_V4 = tuple(
    map(
        ipaddress.IPv4Network,
        ("192.0.0.8/30", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.175.48.0/24", "168.63.129.16/32"),
    )
)
_NEVER_V6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2620:4f:8000::/48", "3fff::/20")))
_SHARED = ipaddress.IPv4Network("100.64.0.0/10")
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_EMBEDDED = "an IPv4 address within IPv6"
# NAT64, and addresses that are "compatible" with IPv4.
_EMBEDDING = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "::/96")))


@dataclass(frozen=True, slots=True)
class Address:
    """An HTTPS address. url: may hold a credential, so neither a log nor a table has it; `masked` is for people."""

    url: str = field(repr=False)
    host: str
    port: int

    @property
    def target(self) -> str:
        """Path and query exactly as registered: servers differ in what `%7E`, `/../` or `%zz` mean."""
        _, rest = _split(self.url)
        return rest if rest.startswith("/") else f"/{rest}"

    @property
    def masked(self) -> str:
        """Without the query and without long parts of the path, which may be credentials."""
        place, mark, _ = self.url.removeprefix(_SCHEME).partition("?")
        authority, slash, path = place.partition("/")
        return f"{_SCHEME}{authority}{slash}{_SECRET_PART.sub('***', path)}{'?***' if mark else ''}"


@dataclass(frozen=True, slots=True)
class Receivers:
    """private: receivers in a private network that the stack's parameter allows, host and port to IP address."""

    private: Mapping[tuple[str, int], str] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> "Receivers":
        """Read `HOST:PORT@IP,...`. Raises InvalidWebhook."""
        return cls(dict(map(_receiver, filter(None, text.split(",")))))

    def parse(self, url: str) -> Address:
        """Read an address. Raises InvalidWebhook, naming the field."""
        host, port_text = _authority(url)
        if port_text and not _PORT_TEXT.fullmatch(port_text):
            raise InvalidWebhook("url: the port is not a number")
        port = int(port_text or _PORT)
        if port != _PORT and (host, port) not in self.private:
            raise InvalidWebhook(f"url: the port must be {_PORT}")
        return Address(url, host, port)

    def reachable(self, address: Address, resolve: Resolve) -> list[str]:
        """The IP addresses to connect to. Raises AddressRefused if one of them is not public; OSError."""
        if listed := self.private.get((address.host, address.port)):
            return [listed]
        found = list(dict.fromkeys(resolve(address.host, address.port)))
        for ip in found:
            if reason := refusal(ipaddress.ip_address(ip)):
                raise AddressRefused(f"the name resolves to an address that is {reason}")
        if not found:
            raise socket.gaierror("the name has no address")
        return found


def look_up(host: str, port: int) -> list[str]:
    """Ask the system's resolver. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


def refusal(ip: Ip) -> str | None:
    """Return the reason for which webhooks must not use an address; None for a public address."""
    return _refused_v6(ip) if isinstance(ip, ipaddress.IPv6Address) else _refused_v4(ip)


def _refused_v4(ip: ipaddress.IPv4Address) -> str | None:
    checks = {
        "unspecified": ip.is_unspecified,
        "loopback": ip.is_loopback,
        "link-local": ip.is_link_local,
        "multicast": ip.is_multicast,
        "shared": ip in _SHARED,
        "reserved": ip.is_reserved or any(ip in network for network in _NEVER_V4),
        "private": not ip.is_global,
    }
    return _first(checks)


def _refused_v6(ip: ipaddress.IPv6Address) -> str | None:
    checks = {
        "unspecified": ip.is_unspecified,
        "loopback": ip.is_loopback,
        "link-local": ip.is_link_local or ip.scope_id is not None,
        "multicast": ip.is_multicast,
        _EMBEDDED: bool(ip.ipv4_mapped or ip.sixtofour or ip.teredo) or any(ip in network for network in _EMBEDDING),
        "private": ip.is_private or ip.is_site_local,
        "reserved": ip not in _GLOBAL_V6 or not ip.is_global or any(ip in network for network in _NEVER_V6),
    }
    return _first(checks)


def _first(checks: Mapping[str, bool]) -> str | None:
    return next((reason for reason, refused in checks.items() if refused), None)


def _split(url: str) -> tuple[str, str]:
    """Authority, and path with query."""
    rest = url.removeprefix(_SCHEME)
    authority = re.split(r"[/?]", rest, maxsplit=1)[0]
    return authority, rest[len(authority) :]


def _authority(url: str) -> tuple[str, str]:
    """Host, and the port as text. Raises InvalidWebhook."""
    host, _, port = _split(url)[0].partition(":")
    number = _NUMBER.fullmatch(host) is not None
    for wrong, problem in _problems(url, host, number=number):
        if wrong:
            raise InvalidWebhook(f"url: {problem}")
    return host, port


def _problems(url: str, host: str, *, number: bool) -> Iterable[tuple[bool, str]]:
    authority, _ = _split(url)
    yield len(url) > MAX_URL, f"more than {MAX_URL:,} characters"
    yield not url.startswith(_SCHEME), f"must start with {_SCHEME}"
    yield not re.fullmatch(r"[!-~]+", url), "only visible ASCII characters; an international name in its xn-- form"
    yield bool(re.search(r'[\\"<>^`{|}]', url)), "has a character that no address has; percent-encode it"
    yield "#" in url, "must not have a fragment (#)"
    yield "@" in authority, "must not have a user name or a password"
    yield "[" in authority or number, "must name a host, not an IP address"
    yield host.endswith("."), "the host must not end with a dot"
    yield host != host.lower(), "the host must be in lower case"
    yield not _HOST.fullmatch(host), "is not the name of a host"


def _receiver(text: str) -> tuple[tuple[str, int], str]:
    place, _, ip = text.partition("@")
    host, _, port = place.partition(":")
    # Never, not even by parameter: the credentials of the function itself are at link-local addresses, which IPv6 can
    # embed.
    with suppress(ValueError):
        is_allowed = refusal(ipaddress.ip_address(ip)) not in ("link-local", _EMBEDDED)
        if is_allowed and _HOST.fullmatch(host) and _PORT_TEXT.fullmatch(port):
            return (host, int(port)), ip
    raise InvalidWebhook(f"receivers: must be HOST:PORT@IP, and neither link-local nor {_EMBEDDED}: {text}")
