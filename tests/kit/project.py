"""The deployed code for the contract tests: files, packages, modules, classes."""

import ast
import importlib.util
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import idempotency

ROOT = Path(__file__).parents[2]
FUNCTIONS = ROOT / "functions"
IDEMPOTENCY = ROOT / "layers" / "idempotency"
TOOLS = ROOT / "src" / "stepwise"
PATH = (ROOT, TOOLS.parent, FUNCTIONS, IDEMPOTENCY)
"""The folders that the project's packages are imported from."""
EVENTS = {path.stem: path for path in sorted((ROOT / "events").rglob("*.json"))}
LAYER = ROOT / "layers" / "dependencies" / "requirements.txt"
SERVICE_MODELS = ROOT / "functions" / "service_models.txt"
PINS = [LAYER, SERVICE_MODELS, *sorted((ROOT / "requirements").glob("*.txt"))]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def relative_name(path: Path) -> str:
    """The path from the repository's root."""
    return str(path.relative_to(ROOT))


def packages(folder: Path) -> list[str]:
    """The Python packages in a folder."""
    return sorted(init.parent.name for init in folder.glob("*/__init__.py"))


CONTEXTS = [name for name in packages(FUNCTIONS) if name not in {"entities", "runtime"}]
DEPLOYED = [*packages(FUNCTIONS), *packages(IDEMPOTENCY)]


def sources(package: str) -> list[Path]:
    """The files of a deployed package."""
    home = IDEMPOTENCY if package == "idempotency" else FUNCTIONS
    return sorted((home / package).rglob("*.py"))


def modules(package: str) -> list[str]:
    """The dotted names of all modules of a deployed package."""
    home = IDEMPOTENCY if package == "idempotency" else FUNCTIONS
    names = (".".join(path.relative_to(home).with_suffix("").parts) for path in sources(package))
    return [name.removesuffix(".__init__") for name in names]


def imported_packages(path: Path) -> set[str]:
    """The packages that a file imports anywhere, without relative imports. A tool is named without `stepwise`."""
    return {name.removeprefix("stepwise.").partition(".")[0] for name in imported_modules(path)}


@cache
def imported_modules(path: Path) -> frozenset[str]:
    """The modules that a file imports, or the packages that it imports them from."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
    return frozenset(names)


@cache
def exceptions() -> dict[str, type[BaseException]]:
    """Every exception class of the deployed code, by its name."""
    for package in DEPLOYED:
        for module in modules(package):
            importlib.import_module(module)
    ours = (cls for cls in _descendants(Exception) if cls.__module__.partition(".")[0] in DEPLOYED)
    return {cls.__name__: cls for cls in ours}


def leaves(base: type[idempotency.IdempotencyError], packages: set[str]) -> set[str]:
    """The names of the leaf classes under `base` in these packages: the errors that a caller sees."""
    return {
        name
        for name, cls in exceptions().items()
        if issubclass(cls, base) and not cls.__subclasses__() and cls.__module__.partition(".")[0] in packages
    }


def transient_errors(module: str) -> set[str]:
    """The names of the transient errors that a module may raise: those of the modules that it loads."""
    exceptions()
    errors = (cls for cls in _descendants(idempotency.TransientError) if not cls.__subclasses__())
    return {cls.__name__ for cls in errors if cls.__module__ in loaded(module)}


@cache
def loaded(module: str) -> frozenset[str]:
    """The deployed modules that importing a deployed module loads, itself among them."""
    found, todo = set[str](), [module]
    while todo:
        if (name := todo.pop()) not in found:
            found.add(name)
            todo += _deployed_imports(name)
    return frozenset(found)


@cache
def _paths() -> dict[str, Path]:
    """The file of each deployed module."""
    return {name: path for package in DEPLOYED for name, path in zip(modules(package), sources(package), strict=True)}


@cache
def _deployed_imports(module: str) -> set[str]:
    paths = _paths()
    package = module if paths[module].name == "__init__.py" else module.rpartition(".")[0]
    names: set[str] = set()
    for node in ast.walk(ast.parse(paths[module].read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            home = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names.update({home, *(f"{home}.{alias.name}" for alias in node.names)})
    return names & paths.keys()


def read_json(path: Path) -> Any:
    """A JSON file. Raises ValueError if an object names a key twice."""
    return json.loads(path.read_text(), object_pairs_hook=_distinct)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError(f"a key is there twice among {[name for name, _ in pairs]}")
    return values


def _descendants(cls: type[BaseException]) -> Iterator[type[BaseException]]:
    for child in cls.__subclasses__():
        yield child
        yield from _descendants(child)
