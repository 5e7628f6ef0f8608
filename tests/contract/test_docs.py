"""The documents agree with everything that can be checked."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from idempotency import IdempotencyError
from tests.kit.each import each
from tests.kit.project import DOCUMENTS, ROOT, TOOLS, exceptions, packages
from tests.kit.template import FUNCTIONS, TEMPLATE, of_type

FUNCTION_TABLE = (ROOT / "docs" / "functions.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
IDEMPOTENCY = (ROOT / "docs" / "idempotency.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
# Commands only, not prose: after a backtick, at the start of a line, in the workflow or in a hook.
MAKE = re.compile(r"(?:`|^ *|run: |entry: )make ([a-z][a-z-]+)", re.MULTILINE)
LINK = re.compile(r"\]\(([^):#]+)(?:#[^)]*)?\)")
RUN_BY_MACHINES = [ROOT / ".github" / "workflows" / "check.yml", ROOT / ".pre-commit-config.yaml"]


@each("function", FUNCTIONS)
def test_every_function_has_a_row(function: str) -> None:
    assert f"| `{function}` |" in FUNCTION_TABLE


@each("store", [*of_type("AWS::DynamoDB::Table"), *of_type("AWS::S3::Bucket")])
def test_personal_data_inventory_lists_every_store(store: str) -> None:
    assert re.search(rf"^\|[^|]*\b{store}\b", (ROOT / "docs" / "personal-data.md").read_text(), re.MULTILINE)


def test_every_error_of_the_layer_is_explained() -> None:
    ours = {name for name, cls in exceptions().items() if cls.__module__.startswith("idempotency")}
    errors = {name for name in ours if not exceptions()[name].__subclasses__()}
    assert {error for error in errors if f"| `{error}` |" not in IDEMPOTENCY} == set()


def named(pattern: re.Pattern[str], files: list[Path]) -> list[tuple[str, str]]:
    """Pairs of a file and a name in it, each once."""
    found = ((str(path.relative_to(ROOT)), name) for path in files for name in pattern.findall(path.read_text()))
    return sorted(set(found))


@each(("file", "target"), named(MAKE, DOCUMENTS))
def test_every_documented_make_target_is_listed_by_make(file: str, target: str) -> None:
    assert re.search(rf"^{target}:.*## ", MAKEFILE, re.MULTILINE)


@each(("file", "target"), named(MAKE, RUN_BY_MACHINES))
def test_every_make_target_in_workflow_and_hooks_exists(file: str, target: str) -> None:
    assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)


def headings(path: Path) -> set[str]:
    """The anchors of a document, as GitHub derives them."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    texts = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text) for text in re.findall(r"^#+ (.+)$", prose, re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}


@each("document", DOCUMENTS, ids=lambda path: path.name)
def test_link_fragments_match_a_heading(document: Path) -> None:
    found = re.findall(r"\]\(([^):#\s]*)#([^)\s]+)\)", document.read_text())
    targets = [(document.parent / path if path else document, anchor) for path, anchor in found]

    assert [anchor for path, anchor in targets if path.suffix == ".md" and anchor not in headings(path)] == []


DECISIONS = {path.name: path.read_text() for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))}
REFERENCES = re.compile(r"\b[Dd]ecisions? (\d{3})\b")


def decided(page: str) -> list[int]:
    """Return the numbers in the headings of a page of decisions."""
    return [int(number) for number in re.findall(r"^## ([^.]+)\. ", DECISIONS[page], re.MULTILINE)]


def indexed() -> Iterator[tuple[str, int]]:
    """Yield the page and number of each decision in the index."""
    for page, numbers in re.findall(r"^\| \[.+\]\((.+)\) \| (.+) \|$", DECISIONS["README.md"], re.MULTILINE):
        yield from ((page, int(number)) for number in numbers.split(", "))


def test_each_decision_has_one_section_and_one_index_entry() -> None:
    sections = [(page, number) for page in DECISIONS for number in decided(page)]
    numbers = [number for _, number in sections]

    assert sorted(indexed()) == sorted(sections)
    assert len(numbers) == len(set(numbers))


def test_next_decision_gets_an_unused_number() -> None:
    (following,) = re.findall(r"The next number is (\d{3});", DECISIONS["README.md"])

    assert int(following) > max(number for page in DECISIONS for number in decided(page))


@each(("file", "number"), named(REFERENCES, [*DOCUMENTS, *sorted((ROOT / "functions").rglob("*.py"))]))
def test_referenced_decision_has_a_section(file: str, number: str) -> None:
    assert int(number) in {number for page in DECISIONS for number in decided(page)}


@each(("file", "path"), named(LINK, DOCUMENTS))
def test_every_linked_file_exists(file: str, path: str) -> None:
    assert ((ROOT / file).parent / path).exists()


def tree() -> Iterator[tuple[str, str]]:
    """Pairs of a folder and a name in it from the architecture's listing; a top-level name has an empty folder."""
    folder = ""
    for line in ARCHITECTURE.split("## Code\n\n```\n")[1].split("```")[0].splitlines():
        names = line.strip().split("  ")[0]
        if line.startswith("  "):
            yield from ((folder, name) for name in names.split(", "))
        else:
            folder = names.rstrip("/")
            yield "", folder


def test_architecture_lists_every_stack_package_and_folder() -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name.isalpha()}
    layers = {path.parent.name for path in (ROOT / "layers").glob("*/*")}
    listed = {
        "": {"template.yaml", "src/stepwise", *folders - {"src"}},
        "src/stepwise": set(packages(TOOLS)),
        "stacks": {path.stem for path in (ROOT / "stacks").glob("*.yaml")},
        "functions": set(packages(ROOT / "functions")),
        "layers": layers,
    }

    assert sorted(tree()) == sorted((folder, name) for folder, names in listed.items() for name in names)


def test_ci_runs_make_test() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_supported_python_is_the_runtime() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    runtime = TEMPLATE["Globals"]["Function"]["Runtime"].removeprefix("python")
    major, minor = map(int, runtime.split("."))

    assert settings["project"]["requires-python"] == f">={runtime},<{major}.{minor + 1}"
    assert settings["tool"]["mypy"]["python_version"] == runtime
    assert settings["tool"]["ruff"]["target-version"] == f"py{major}{minor}"


def test_handler_passes_every_layer_error_under_its_own_name() -> None:
    ours = [cls for cls in exceptions().values() if cls.__module__.startswith("idempotency")]
    assert [cls.__name__ for cls in ours if not issubclass(cls, IdempotencyError)] == []
