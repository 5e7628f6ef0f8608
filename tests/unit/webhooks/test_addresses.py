"""Tricks to lead a webhook into the function's network. Each is refused, with its reason."""

import pytest

from webhooks.addresses import Receivers
from webhooks.errors import AddressRefused, InvalidWebhook

# Refused when the address is read.
ADDRESSES = {
    "plain HTTP": ("http://example.com/", "must start with https://"),
    "another scheme": ("file:///etc/passwd", "must start with https://"),
    "a scheme in upper case": ("HTTPS://example.com/", "must start with https://"),
    "IPv4": ("https://127.0.0.1/", "must name a host"),
    "one decimal number": ("https://2130706433/", "must name a host"),
    "octal": ("https://0177.0.0.1/", "must name a host"),
    "hexadecimal": ("https://0x7f.0x0.0x0.0x1/", "must name a host"),
    "one hexadecimal number": ("https://0x7f000001/", "must name a host"),
    "short": ("https://127.1/", "must name a host"),
    "IPv6": ("https://[::1]/", "must name a host"),
    "IPv6 with a zone": ("https://[fe80::1%25eth0]/", "must name a host"),
    "a dot at the end": ("https://metadata.google.internal./", "must not end with a dot"),
    "a user name": ("https://example.com@169.254.169.254/", "must not have a user name"),
    "a user name and a password": ("https://a:b@example.com/", "must not have a user name"),
    "a backslash before the host": ("https://example.com\\@127.0.0.1/", "a character that no address has"),
    "a fragment before the host": ("https://127.0.0.1#@example.com/", "must not have a fragment"),
    "an odd port": ("https://example.com:6379/", "the port must be 443"),
    "a port that is no number": ("https://example.com:443x/", "the port is not a number"),
    "full-width digits": ("https://１２７.0.0.1/", "only visible ASCII"),
    "a dot that is not ASCII": ("https://127。0。0。1/", "only visible ASCII"),
    "a line end": ("https://example.com/\r\nHost: internal", "only visible ASCII"),
    "a tab in the host": ("https://exa\tmple.com/", "only visible ASCII"),
    "a percent in the host": ("https://127%2e0%2e0%2e1/", "is not the name of a host"),
    "no host": ("https:///etc", "is not the name of a host"),
    "an underscore": ("https://a_b.example.com/", "is not the name of a host"),
    "a name in upper case": ("https://EXAMPLE.com/", "must be in lower case"),
    "a long address": ("https://example.com/" + "a" * 2048, "more than 2,048 characters"),
}
# Refused when the name is resolved.
RESOLVED = {
    "loopback": (["127.0.0.1"], "loopback"),
    "another loopback": (["127.255.0.9"], "loopback"),
    "this host": (["0.0.0.0"], "unspecified"),  # noqa: S104
    "private A": (["10.0.0.1"], "private"),
    "private B": (["172.31.255.255"], "private"),
    "private C": (["192.168.1.1"], "private"),
    "metadata": (["169.254.169.254"], "link-local"),
    "credentials of a container": (["169.254.170.2"], "link-local"),
    "metadata of another cloud": (["168.63.129.16"], "reserved"),
    "carrier NAT": (["100.100.100.200"], "shared"),
    "multicast": (["224.0.0.1"], "multicast"),
    "broadcast": (["255.255.255.255"], "reserved"),
    "protocol assignments": (["192.0.0.192"], "private"),
    "6to4 relay": (["192.88.99.1"], "reserved"),
    "documentation": (["203.0.113.9"], "private"),
    "anycast to the next NAT": (["192.0.0.9"], "reserved"),
    "anycast to the next relay": (["192.52.193.1"], "reserved"),
    "AS112": (["192.175.48.1"], "reserved"),
    "IPv6 documentation": (["2001:db8::1"], "private"),
    "new IPv6 documentation": (["3fff:fff::1"], "reserved"),
    "segment routing": (["5f00::1"], "reserved"),
    "IPv6 anycast to the next NAT": (["2001:1::1"], "reserved"),
    "overlay identifiers": (["2001:20::1"], "reserved"),
    "IPv6 AS112": (["2620:4f:8000::1"], "reserved"),
    "IPv6 loopback": (["::1"], "loopback"),
    "IPv6 unspecified": (["::"], "unspecified"),
    "IPv6 link-local with a zone": (["fe80::1%eth0"], "link-local"),
    "IPv6 zone of a public address": (["2606:4700::1%eth0"], "link-local"),
    "IPv6 unique local": (["fc00::1"], "private"),
    "IPv6 metadata": (["fd00:ec2::254"], "private"),
    "IPv6 site-local": (["fec0::1"], "private"),
    "IPv6 multicast": (["ff02::1"], "multicast"),
    "IPv4-mapped": (["::ffff:169.254.169.254"], "an IPv4 address within IPv6"),
    "IPv4-compatible": (["::127.0.0.1"], "an IPv4 address within IPv6"),
    "6to4": (["2002:7f00:1::"], "an IPv4 address within IPv6"),
    "Teredo": (["2001:0:4136:e378:8000:63bf:3fff:fdd2"], "an IPv4 address within IPv6"),
    "NAT64": (["64:ff9b::a9fe:a9fe"], "an IPv4 address within IPv6"),
    "local NAT64": (["64:ff9b:1::a00:1"], "an IPv4 address within IPv6"),
    "discard": (["100::1"], "private"),
    "not assigned": (["4000::1"], "reserved"),
    "one bad address of several": (["93.184.215.14", "10.0.0.1"], "private"),
}
AS_REGISTERED = [
    "/%2e%2e/x",
    "/a/../b",
    "/./x",
    "/x?",
    "/x??",
    "/?a=[1]",
    "/%zz",
    "/%7E",
    "/~",
    "//x",
    "/a//b",
    "/?a=/../",
]
PUBLIC = ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]
URL = "https://hooks.example.com/in?token=t0ken"


@pytest.mark.parametrize(
    ("url", "target"),
    [
        *((f"https://hooks.example.com{rest}", rest) for rest in AS_REGISTERED),
        ("https://hooks.example.com", "/"),
        ("https://hooks.example.com?a=b", "/?a=b"),
        ("https://hooks.example.com:443/a:b@c", "/a:b@c"),
    ],
)
def test_address_is_called_as_registered(url: str, target: str) -> None:
    assert Receivers().parse(url).target == target


@pytest.mark.parametrize("trick", ADDRESSES)
def test_misleading_address_is_rejected_with_its_reason(trick: str) -> None:
    url, reason = ADDRESSES[trick]

    with pytest.raises(InvalidWebhook, match=rf"^url: .*{reason}"):
        Receivers().parse(url)


@pytest.mark.parametrize("trick", RESOLVED)
def test_name_of_an_internal_address_is_rejected_with_the_reason(trick: str) -> None:
    found, reason = RESOLVED[trick]

    with pytest.raises(AddressRefused, match=rf"{reason}$"):
        Receivers().reachable(Receivers().parse(URL), lambda *_: found)


def test_public_name_is_reached_at_the_checked_addresses() -> None:
    address = Receivers().parse(URL)

    assert Receivers().reachable(address, lambda *_: [*PUBLIC, PUBLIC[0]]) == PUBLIC


def test_private_receiver_is_reached_only_at_its_name_port_and_address() -> None:
    receivers = Receivers.of("ledger.corp:8443@10.1.2.3,other.corp:443@10.9.9.9")

    assert receivers.reachable(receivers.parse("https://ledger.corp:8443/"), lambda *_: ["10.6.6.6"]) == ["10.1.2.3"]
    with pytest.raises(AddressRefused):
        receivers.reachable(receivers.parse("https://ledger.corp/"), lambda *_: ["10.1.2.3"])
    with pytest.raises(InvalidWebhook):
        receivers.parse("https://ledger.corp:8444/")


@pytest.mark.parametrize(
    "text",
    [
        "metadata.corp:443@169.254.169.254",
        *(f"metadata.corp:443@{ip}" for ip in ("::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::")),
        *(f"a.corp:{port}@10.0.0.1" for port in ("-1", "1_0", "١", " 443", "")),
        *("a.corp:443@x", "a.corp@10.0.0.1", "@10.0.0.1"),
    ],
)
def test_no_parameter_opens_link_local_addresses_or_is_half_parsed(text: str) -> None:
    with pytest.raises(InvalidWebhook, match=r"^receivers: "):
        Receivers.of(text)


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        (URL, "https://hooks.example.com/in?***"),
        (
            "https://hooks.example.com/services/T00000000/xoxb1234567890abcdef",
            "https://hooks.example.com/services/T00000000/***",
        ),
        ("https://hooks.example.com", "https://hooks.example.com"),
        ("https://hooks.example.com?token=t0ken", "https://hooks.example.com?***"),
    ],
)
def test_address_is_shown_without_its_credentials(url: str, masked: str) -> None:
    address = Receivers().parse(url)

    assert address.masked == masked
    assert "t0ken" not in repr(address)
