"""The secret shared by a local stack and the simulator, in the stack's Secrets Manager, as on AWS."""

import secrets
from contextlib import suppress
from typing import Any

import boto3

from stepwise.local.emulator.emulator import REGION

from .client import GatewayClient

NAME, CARDS_NAME = "payment-gateway", "card-processor"
NO_GATEWAY = {"PaymentGatewayUrl": "", "PaymentGatewaySecretArn": ""}
NO_PROCESSOR = {"CardProcessorUrl": "", "CardProcessorSecretArn": ""}


def parameters(endpoint: str, address: str) -> dict[str, str]:
    """Return template parameters for a stack that charges at a simulator, which accepts the stack's secret from now on.

    endpoint: the local stack's endpoint. address: the simulator's address.
    """
    return {"PaymentGatewayUrl": address, "PaymentGatewaySecretArn": _shared(endpoint, address, NAME)}


def card_parameters(endpoint: str, address: str) -> dict[str, str]:
    """Like `parameters`, for a stack that issues cards at a simulator."""
    return {"CardProcessorUrl": address, "CardProcessorSecretArn": _shared(endpoint, address, CARDS_NAME)}


def _shared(endpoint: str, address: str, name: str) -> str:
    """Return the ARN of a secret, created at first use, which the simulator accepts from now on."""
    manager = client(endpoint)
    with suppress(manager.exceptions.ResourceExistsException):
        manager.create_secret(Name=name, SecretString=secrets.token_urlsafe(32))
    found = manager.get_secret_value(SecretId=name)
    GatewayClient(address).rotate(found["SecretString"])
    return str(found["ARN"])


def client(endpoint: str) -> Any:
    """Return a Secrets Manager client for a local stack."""
    return boto3.client(
        "secretsmanager",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
