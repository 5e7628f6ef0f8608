"""The target of a deployment: an account's Region, a stack, its parameters."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from stepwise.deployment.application import flat
from stepwise.deployment.stages import Deployed, Stage, deployed, stage_of
from stepwise.deployment.templates import DEFINITION, MACHINE, SAM_DEFINITION, SAM_MACHINE, Template, of_type
from stepwise.deployment.translation import translated
from stepwise.local.emulator.emulator import ROOT

from .resolve import Resolver

# Account number in ARNs, if the account is unknown.
_ANY_ACCOUNT = "123456789012"


@dataclass(frozen=True)
class Target:
    """A target. given: parameters of the command, which override the stage's, which override the stack's."""

    stack_name: str
    given: Mapping[str, str] = field(default_factory=dict)
    path: Path = ROOT / "template.yaml"

    @cached_property
    def stage(self) -> Stage:
        return stage_of(self.stack_name)

    @cached_property
    def session(self) -> boto3.Session:
        """Create a session from the caller's AWS settings, but in the stage's Region, as `sam deploy` does."""
        if self.stage.region:
            return boto3.Session(region_name=self.stage.region)
        own = boto3.Session()
        return own if own.region_name else boto3.Session(region_name="us-east-1")

    @cached_property
    def region(self) -> str:
        return str(self.session.region_name)

    def client(self, service: str) -> Any:
        """Create a client with short timeouts. Any, because boto3 has no type for a variable service name."""
        make: Any = self.session.client
        return make(service, config=Config(connect_timeout=5, retries={"mode": "standard", "total_max_attempts": 3}))

    @cached_property
    def deployed(self) -> Deployed | None:
        """The stack, if it exists. Raises botocore's errors."""
        return deployed(self.client("cloudformation"), self.stack_name)

    @cached_property
    def template(self) -> Template:
        """The whole application as one template."""
        return flat(self.path)

    @cached_property
    def translated(self) -> Template:
        return translated(self.template, self.region)

    @cached_property
    def said(self) -> dict[str, str]:
        """The parameters that a deployment would pass."""
        return {**self.stage.parameters, **self.given}

    @cached_property
    def resolver(self) -> Resolver:
        """Create a resolver of the translated template with every parameter. An unreachable account counts as empty."""
        try:
            standing = self.deployed.parameters if self.deployed else {}
            account = self.client("sts").get_caller_identity()["Account"]
        except (BotoCoreError, ClientError):
            standing, account = {}, _ANY_ACCOUNT
        return Resolver.to(self.translated, self.region, account, self.stack_name, {**standing, **self.said})

    def definitions(self) -> Iterator[tuple[str, str]]:
        return definitions(self.template, self.resolver, self.path.parent)


def definitions(template: Template, resolver: Resolver, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield every state machine's definition with its placeholders filled in, by logical id.

    folder: the template's folder.
    """
    resolved = resolver.resources(MACHINE)
    places = {name: body[SAM_DEFINITION] for name, body in of_type(template, SAM_MACHINE).items()}
    places |= {name: body[DEFINITION] for name, body in of_type(template, MACHINE).items()}
    for name, place in places.items():
        text = (folder / place).read_text()
        for key, value in resolved[name].get("DefinitionSubstitutions", {}).items():
            text = text.replace(f"${{{key}}}", str(value))
        yield name, json.dumps(json.loads(text))
