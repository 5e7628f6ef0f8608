"""The HTTP server of the simulator, and its control paths: settings, faults, requests, reset."""

import sys
from typing import Any

from stepwise.local.simulators.serving import (
    Answer,
    Asked,
    Call,
    ConnectionLost,
    InvalidControl,
    SimulatorServer,
    fault_controls,
)

from . import settings as times_and_limits
from .faults import ANY, Fault
from .operations import OPERATIONS
from .settings import Settings
from .simulator import Clocks, Simulator, error_answer


class ConnectServer(SimulatorServer):
    def __init__(self, settings: Settings, clocks: Clocks | None = None) -> None:
        self.simulator = simulator = Simulator(settings, clocks or Clocks())
        self.controls = {
            ("GET", "health"): lambda _: {"operations": sorted(OPERATIONS)},
            ("GET", "settings"): lambda _: simulator.state.account.settings,
            ("PATCH", "settings"): self._change_settings,
            ("GET", "requests"): lambda asked: simulator.state.journal.entries(asked.query.get("operation")),
            ("DELETE", "requests"): lambda _: simulator.state.journal.clear(),
            ("GET", "instances"): self._instances,
            ("POST", "reset"): lambda _: simulator.reset(),
            **fault_controls(lambda: simulator.state.faults, Fault, self._check),
        }
        super().__init__()

    def respond(self, call: Call, body: bytes) -> Answer:
        headers = {name.lower(): value for name, value in call.headers.items()}
        try:
            return self.simulator.reply(call.command, call.path, headers, body)
        except ConnectionLost:
            raise
        except Exception as error:
            # The simulator's defects must not look like the service's errors.
            sys.stderr.write(f"{call.command}: {type(error).__name__}\n")
            return error_answer("BrokenSimulator", "the simulator is broken", 500)

    def _change_settings(self, asked: Asked) -> Settings:
        account = self.simulator.state.account
        with account.lock:
            account.settings = times_and_limits.changed(account.settings, asked.read(dict[str, Any]))
            return account.settings

    def _check(self, fault: Fault) -> None:
        """Check a fault. Raises InvalidControl."""
        if fault.operation not in OPERATIONS.keys() | {ANY}:
            raise InvalidControl(f"the simulator has no operation {fault.operation}")
        if fault.code and not (fault.status or self.simulator.protocol.status(fault.code)):
            raise InvalidControl(f"Amazon Connect has no error {fault.code}; give its status")

    def _instances(self, _: Asked) -> list[dict[str, Any]]:
        account = self.simulator.state.account
        with account.lock:
            return [
                {
                    "id": instance.id,
                    "alias": instance.attributes.get("InstanceAlias"),
                    "status": instance.status(account.now()),
                    "tags": instance.tags,
                    "users": sorted(instance.usernames),
                }
                for instance in account.instances()
            ]
