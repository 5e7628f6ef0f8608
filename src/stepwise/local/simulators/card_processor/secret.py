"""The secret shared by a local stack and the simulator, as the gateway's."""

from stepwise.local.simulators.payment_gateway import secret
from stepwise.local.simulators.payment_gateway.client import GatewayClient

NAME = "card-processor"
NO_PROCESSOR = {"CardProcessorUrl": "", "CardProcessorSecretArn": ""}


def parameters(endpoint: str, address: str) -> dict[str, str]:
    """Template parameters for a stack that issues cards at a simulator, which accepts its secret from now on."""
    arn, value = secret.kept(secret.client(endpoint), NAME)
    GatewayClient(address).rotate(value)
    return {"CardProcessorUrl": address, "CardProcessorSecretArn": arn}
