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


def transient_errors(module: str, handler: str) -> set[str]:
    """The transient errors that a Lambda handler may raise: those named by the code that it reaches."""
    exceptions()
    errors = (cls for cls in _descendants(idempotency.TransientError) if not cls.__subclasses__())
    found = reached(module, handler)
    return {cls.__name__ for cls in errors if (cls.__module__, cls.__name__) in found}


type Definition = tuple[str, str]
"""A module, and a name that it defines or imports: of a function, a whole class or a value."""


@cache
def reached(module: str, name: str) -> frozenset[Definition]:
    """The definitions in deployed code that a definition may use, directly or by others, itself among them.

    It may use each name in its code. The handlers of a context share a module, so its imports alone say too much.
    """
    found, todo = set[Definition](), [(module, name)]
    while todo:
        if (place := todo.pop()) not in found:
            found.add(place)
            todo += _uses(*place)
    return frozenset(found)


@cache
def _uses(module: str, name: str) -> frozenset[Definition]:
    """The definitions that one definition names."""
    known, uses = _definitions(module), set[Definition]()
    for statement in known.get(name, ()):
        for node in ast.walk(statement):
            match node:
                case ast.ImportFrom(names=aliases):
                    # At the level of the module, a statement imports more than this name.
                    named = [one for one in aliases if node is not statement or name == (one.asname or one.name)]
                    uses.update((_home(node, module), one.name) for one in named)
                case ast.Name(id=used) if used in known:
                    uses.add((module, used))
                case ast.Attribute(value=ast.Name(id=owner), attr=used):
                    imports = (one for one in known.get(owner, ()) if isinstance(one, ast.ImportFrom))
                    homes = {f"{_home(one, module)}.{alias.name}" for one in imports for alias in one.names}
                    uses.update((home, used) for home in homes)
    return frozenset((home, used) for home, used in uses if home in _paths())


@cache
def _definitions(module: str) -> dict[str, list[ast.stmt]]:
    """The statements that define each name at the level of a module."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in ast.parse(_paths()[module].read_text()).body:
        for node in ast.walk(statement) if isinstance(statement, ast.If | ast.Try) else [statement]:
            for name in _defined(node):
                found.setdefault(name, []).append(node)  # type: ignore[arg-type]
    return found


def _defined(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.ImportFrom(names=aliases):
            yield from (one.asname or one.name for one in aliases)
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign() | ast.AnnAssign() | ast.TypeAlias():
            stored = (inner for inner in ast.walk(node) if isinstance(inner, ast.Name))
            yield from (inner.id for inner in stored if isinstance(inner.ctx, ast.Store))


def _home(node: ast.ImportFrom, module: str) -> str:
    package = module if _paths()[module].name == "__init__.py" else module.rpartition(".")[0]
    return importlib.util.resolve_name("." * node.level + (node.module or ""), package)


@cache
def _paths() -> dict[str, Path]:
    """The file of each deployed module."""
    return {name: path for package in DEPLOYED for name, path in zip(modules(package), sources(package), strict=True)}


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
