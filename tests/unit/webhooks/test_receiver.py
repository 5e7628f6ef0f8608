"""The simulator of receivers."""

import socket
from unittest import mock

from stepwise.local.simulators.webhook_receiver.client import ReceiverClient, parameters


def test_simulator_is_reachable_where_localhost_is_ipv6_only(receiver: ReceiverClient) -> None:
    with mock.patch.object(socket, "getaddrinfo", wraps=socket.getaddrinfo) as resolved:
        assert parameters(receiver.address)["WebhookReceivers"].endswith("@127.0.0.1")
        ReceiverClient(receiver.address).reset()

    assert {call.args[0] for call in resolved.call_args_list} == {"127.0.0.1"}
