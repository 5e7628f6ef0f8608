"""Cold starts, from the import of a handler to its first AWS call, without network: `python -m benchmarks.cold_start`.

Each start is a process of its own; the variants take turns, so that a busy moment of the machine strikes all alike.
"""

import os
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from local import views
from local.deployment import build
from local.emulator import REGION, ROOT, STATE

from . import packages
from .deployed import Deployed, handlers

ROUNDS = 25
BARE, POWERTOOLS = 'boto3.client("dynamodb")', "process_order on Powertools"
_HANDLERS = ROOT / "benchmarks" / "handlers"
_ORDER = ROOT / "events" / "process_order.json"
# The discard port: nothing is called in this benchmark, and nothing would answer.
_NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True)
class Variant:
    """What is started. folders: where its packages lie, in the order in which they are searched."""

    name: str
    target: str
    event: Path
    folders: Sequence[Path]
    variables: Mapping[str, str]

    def start(self) -> float:
        """One cold start. Returns milliseconds; raises RuntimeError with what the process said."""
        python, program = packages.ENVIRONMENT / "bin/python", ROOT / "benchmarks/first_call.py"
        command: list[str | Path] = [python, "-SP", program, self.target, self.event]
        ended = subprocess.run(command, env=self._environment(), capture_output=True, text=True, check=False)
        if ended.returncode:
            raise RuntimeError(f"{self.name}: {ended.stderr}{ended.stdout}")
        return float(ended.stdout.splitlines()[-1]) * 1000

    def _environment(self) -> dict[str, str]:
        """As Lambda sets it: layers and code are read-only, tracing is on."""
        return {
            "PYTHONPATH": os.pathsep.join(map(str, self.folders)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LAMBDA_TASK_ROOT": "/var/task",
            "AWS_LAMBDA_FUNCTION_NAME": "benchmark",
            "AWS_LAMBDA_LOG_FORMAT": "JSON",
            "AWS_XRAY_DAEMON_ADDRESS": "127.0.0.1:2000",
            "AWS_XRAY_CONTEXT_MISSING": "LOG_ERROR",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            **self.variables,
        }


def main() -> None:
    subprocess.run([ROOT / "local/setup.sh", "bench"], check=True)
    STATE.mkdir(exist_ok=True)
    artefacts = build(_NOWHERE, STATE / "bench-build.log")
    runtime, powertools = packages.runtime(), packages.powertools()
    variants = _variants(artefacts, runtime, powertools)
    views.console().print(_times(variants, _measured(variants)), _sizes(artefacts, powertools))


def _variants(artefacts: Path, runtime: Path, powertools: Path) -> list[Variant]:
    deployed = handlers()
    layers = [artefacts / "IdempotencyLayer/python", artefacts / "DependenciesLayer/python"]
    sources = [packages.without_bytecode(layer) for layer in layers]
    return [
        Variant(BARE, "bare.put", _ORDER, [_HANDLERS, runtime], {}),
        _on_powertools(POWERTOOLS, [powertools, runtime]),
        *(_ours(one.handler, one, artefacts, [*layers, runtime]) for one in deployed),
        _on_powertools(f"{POWERTOOLS}, no bytecode", [packages.without_bytecode(powertools), runtime]),
        _ours(f"{deployed[0].handler}, no bytecode", deployed[0], artefacts, [*sources, runtime]),
    ]


def _on_powertools(name: str, folders: Sequence[Path]) -> Variant:
    return Variant(name, "on_powertools.process_order", _ORDER, [_HANDLERS, *folders], {})


def _ours(name: str, deployed: Deployed, artefacts: Path, folders: Sequence[Path]) -> Variant:
    folders = [artefacts / deployed.function, *folders]
    return Variant(name, deployed.target, deployed.event, folders, deployed.variables)


def _measured(variants: Sequence[Variant]) -> dict[str, list[float]]:
    """Milliseconds of each start, by the variant's name. A first round, which warms the disk's cache, is left out."""
    rounds = [[variant.start() for variant in variants] for _ in range(ROUNDS + 1)][1:]
    return {variant.name: list(column) for variant, column in zip(variants, zip(*rounds, strict=True), strict=True)}


def _times(variants: Sequence[Variant], measured: Mapping[str, Sequence[float]]) -> Table:
    columns = ["start", "median", "minimum", "of bare", "of Powertools", "of bare, minima", "of Powertools, minima"]
    title = f"Cold start, {ROUNDS} rounds (aims: at most 1.35 of bare, 0.85 of Powertools)"
    return views.table(title, columns, [_row(variant.name, measured) for variant in variants])


def _row(name: str, measured: Mapping[str, Sequence[float]]) -> list[str]:
    median, least = statistics.median(measured[name]), min(measured[name])
    medians = [median / statistics.median(measured[other]) for other in (BARE, POWERTOOLS)]
    minima = [least / min(measured[other]) for other in (BARE, POWERTOOLS)]
    return [name, f"{median:.0f} ms", f"{least:.0f} ms", *(f"{ratio:.2f}" for ratio in [*medians, *minima])]


def _sizes(artefacts: Path, powertools: Path) -> Table:
    folders = {
        "dependencies layer, both architectures": artefacts / "DependenciesLayer",
        "idempotency layer": artefacts / "IdempotencyLayer",
        "code of a function": artefacts / handlers()[0].function,
        "Powertools and what it needs, one architecture": powertools,
    }
    sizes = {name: packages.size(folder) for name, folder in folders.items()}
    rows = [[name, f"{plain / 1000:.0f} kB", f"{zipped / 1000:.0f} kB"] for name, (plain, zipped) in sizes.items()]
    return views.table("Sizes", ["package", "unzipped", "zipped"], rows)


if __name__ == "__main__":
    main()
