"""Cold starts, from the import of a handler to its first AWS call, without network: `python -m benchmarks.cold_start`.

Each start is a separate process. The variants take turns, so that a busy moment affects all of them.
"""

import json
import os
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.table import Table

from stepwise.cli import views
from stepwise.local.deployment import build
from stepwise.local.emulator.emulator import REGION, ROOT, STATE

from . import packages
from .deployed import Deployed, handlers
from .results import show, size

ROUNDS, WARM_UP = size(25, 1), size(1, 0)
BARE, POWERTOOLS = 'boto3.client("dynamodb")', "process_order on Powertools"
# With the clients of the functions that import users.
IMPORT_ON_POWERTOOLS = "user_create on Powertools"
_SOURCES = ", no bytecode"
_HANDLERS = ROOT / "benchmarks" / "handlers"
_ORDER = ROOT / "events/ordering" / "process_order.json"
_ROW = ROOT / "events/user_import" / "user_create.json"
# The discard port: nothing listens there, and this benchmark makes no calls.
_NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True)
class Start:
    """Milliseconds of one cold start: elapsed and CPU. CPU time hardly depends on other load."""

    clock: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Variant:
    """A handler to start. folders: its package folders, in search order.

    beside: the name of the Powertools variant to compare with.
    """

    name: str
    target: str
    event: Path
    folders: Sequence[Path]
    variables: Mapping[str, str] = field(default_factory=dict)
    beside: str = POWERTOOLS

    @property
    def group(self) -> str:
        """Return the context of a deployed function, or the name of any other."""
        package = self.target.partition(".")[0]
        return package if (ROOT / "functions" / package).is_dir() and _SOURCES not in self.name else self.name

    def start(self) -> Start:
        """Start the handler once. Raises RuntimeError with the output of the process."""
        python, program = packages.ENVIRONMENT / "bin/python", ROOT / "benchmarks/first_call.py"
        command: list[str | Path] = [python, "-SP", program, self.target, self.event]
        ended = subprocess.run(command, env=self._environment(), capture_output=True, text=True, check=False)
        if ended.returncode:
            raise RuntimeError(f"{self.name}: {ended.stderr}{ended.stdout}")
        clock, cpu = json.loads(ended.stdout.splitlines()[-1])
        return Start(clock * 1000, cpu * 1000)

    def _environment(self) -> dict[str, str]:
        """Environment as on Lambda: layers and code are read-only, tracing is on."""
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
    subprocess.run([ROOT / "requirements/setup.sh", "bench"], check=True)
    STATE.mkdir(exist_ok=True)
    artefacts = build(_NOWHERE, STATE / "bench-build.log")
    runtime, powertools = packages.runtime(), packages.powertools()
    variants = _variants(artefacts, runtime, powertools)
    measured = _measured(variants)
    views.console().print(_times(variants, measured))
    show("benchmarks.cold_start", _contexts(variants, measured), _sizes(artefacts, powertools))


def _variants(artefacts: Path, runtime: Path, powertools: Path) -> list[Variant]:
    deployed = handlers()
    shipped = [_ours(one, [_built(artefacts, one.function), *_layers(artefacts), runtime]) for one in deployed]
    sources = [packages.without_bytecode(folder) for folder in shipped[0].folders[:-1]]
    return [
        Variant(BARE, "bare.put", _ORDER, [_HANDLERS, runtime]),
        _on_powertools(POWERTOOLS, [powertools, runtime]),
        Variant(
            IMPORT_ON_POWERTOOLS,
            "import_on_powertools.user_create",
            _ROW,
            [_HANDLERS, powertools, runtime],
            beside=IMPORT_ON_POWERTOOLS,
        ),
        *shipped,
        _on_powertools(f"{POWERTOOLS}{_SOURCES}", [packages.without_bytecode(powertools), runtime]),
        _ours(deployed[0], [*sources, runtime], note=_SOURCES),
    ]


def _layers(artefacts: Path) -> list[Path]:
    return [_built(artefacts, layer) / "python" for layer in ("IdempotencyLayer", "DependenciesLayer")]


def _built(artefacts: Path, name: str) -> Path:
    """Artifact of a function, or of a layer, which is the same in every stack."""
    return min(artefacts.glob(f"*/{name}"))


def _on_powertools(name: str, folders: Sequence[Path]) -> Variant:
    return Variant(name, "on_powertools.process_order", _ORDER, [_HANDLERS, *folders])


def _ours(deployed: Deployed, folders: Sequence[Path], note: str = "") -> Variant:
    beside = IMPORT_ON_POWERTOOLS if deployed.target.startswith("user_import.handlers.") else POWERTOOLS
    return Variant(f"{deployed.handler}{note}", deployed.target, deployed.event, folders, deployed.variables, beside)


def _measured(variants: Sequence[Variant]) -> dict[str, list[Start]]:
    """Measure every start, by the variant's name. Discards a first round, which warms the disk cache."""
    rounds = [[variant.start() for variant in variants] for _ in range(WARM_UP + ROUNDS)][WARM_UP:]
    return {variant.name: list(column) for variant, column in zip(variants, zip(*rounds, strict=True), strict=True)}


def _times(variants: Sequence[Variant], measured: Mapping[str, Sequence[Start]]) -> Table:
    columns = ["start", "median", "minimum", "median CPU", "of bare", "of Powertools"]
    title = f"Cold start, {ROUNDS} rounds. Ratios: of the medians (aims 1.35, 0.85) / minima / median CPU"
    return views.table(title, columns, [_row(variant, measured) for variant in variants])


def _contexts(variants: Sequence[Variant], measured: Mapping[str, Sequence[Start]]) -> Table:
    """Format the fastest and slowest start of each context as a table; a row per function would fill pages."""
    groups = dict[str, list[Variant]]()
    for one in variants:
        groups.setdefault(one.group, []).append(one)
    columns = ["start", "functions", "medians", "of bare", "of Powertools"]
    title = f"Cold start, {ROUNDS} rounds. Ratios of the medians (aims 1.35, 0.85)"
    return views.table(title, columns, [_range(name, group, measured) for name, group in groups.items()])


def _range(name: str, group: Sequence[Variant], measured: Mapping[str, Sequence[Start]]) -> list[str]:
    def median(of: str) -> float:
        return statistics.median(start.clock for start in measured[of])

    own = [median(one.name) for one in group]
    ratios = [[median(one.name) / median(other) for one in group] for other in (BARE, group[0].beside)]
    medians = f"{min(own):.0f} to {max(own):.0f} ms" if len(own) > 1 else f"{own[0]:.0f} ms"
    return [name, str(len(own)), medians, *(_span(ratio) for ratio in ratios)]


def _span(ratios: Sequence[float]) -> str:
    low, high = f"{min(ratios):.2f}", f"{max(ratios):.2f}"
    return low if low == high else f"{low} to {high}"


def _row(variant: Variant, measured: Mapping[str, Sequence[Start]]) -> list[str]:
    figures, bare, powertools = (_figures(measured[which]) for which in (variant.name, BARE, variant.beside))
    return [
        variant.name,
        *(f"{figure:.0f} ms" for figure in figures),
        _ratios(figures, bare),
        _ratios(figures, powertools),
    ]


def _figures(starts: Sequence[Start]) -> list[float]:
    """Median and minimum of the elapsed time, and median of the CPU time."""
    clock = [start.clock for start in starts]
    return [statistics.median(clock), min(clock), statistics.median(start.cpu for start in starts)]


def _ratios(figures: Sequence[float], others: Sequence[float]) -> str:
    return " / ".join(f"{figure / other:.2f}" for figure, other in zip(figures, others, strict=True))


def _sizes(artefacts: Path, powertools: Path) -> Table:
    folders = {
        "dependencies layer, both architectures": _built(artefacts, "DependenciesLayer"),
        "idempotency layer": _built(artefacts, "IdempotencyLayer"),
        "code of a function": _built(artefacts, handlers()[0].function),
        "Powertools and its dependencies, one architecture": powertools,
    }
    sizes = {name: packages.size(folder) for name, folder in folders.items()}
    rows = [[name, f"{plain / 1000:.0f} kB", f"{zipped / 1000:.0f} kB"] for name, (plain, zipped) in sizes.items()]
    return views.table("Sizes", ["package", "unzipped", "zipped"], rows)


if __name__ == "__main__":
    main()
