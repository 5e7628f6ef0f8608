"""The secret shared by a local stack and the simulator, in the stack's Secrets Manager, as on AWS."""

import secrets
from contextlib import suppress
from typing import Any

import boto3

from stepwise.local.emulator.emulator import REGION

from .client import GatewayClient

NAME = "payment-gateway"
NO_GATEWAY = {"PaymentGatewayUrl": "", "PaymentGatewaySecretArn": ""}


def parameters(endpoint: str, address: str) -> dict[str, str]:
    """Template parameters for a stack that charges at a simulator, which accepts the stack's secret from now on.

    endpoint: of the local stack. address: of the simulator.
    """
    arn, secret = kept(client(endpoint), NAME)
    GatewayClient(address).rotate(secret)
    return {"PaymentGatewayUrl": address, "PaymentGatewaySecretArn": arn}


def client(endpoint: str) -> Any:
    """The Secrets Manager of a local stack."""
    return boto3.client(
        "secretsmanager",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


def kept(manager: Any, name: str) -> tuple[str, str]:
    """ARN and value, created at first use."""
    with suppress(manager.exceptions.ResourceExistsException):
        manager.create_secret(Name=name, SecretString=secrets.token_urlsafe(32))
    found = manager.get_secret_value(SecretId=name)
    return found["ARN"], found["SecretString"]
