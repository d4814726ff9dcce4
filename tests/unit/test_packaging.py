"""The promises that the repository makes about itself: dependencies, rooms, exceptions to rules, pages."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import syncd

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
SOURCES = sorted(
    path
    for folder in ("syncd", "tests", "bench", "docs", "grafana", "scripts")
    for path in (ROOT / folder).rglob("*.py")
)
PAGES = sorted(
    page
    for pages in (
        "*.md",
        *(f"{folder}/**/*.md" for folder in ("bench", "docs", "grafana", "manifests", "syncd", "tests")),
    )
    for page in ROOT.glob(pages)
)
ROOMS = [layer.removeprefix("syncd.") for layer in PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_version_is_the_same_everywhere() -> None:
    assert syncd.__version__ == PROJECT["project"]["version"]
    assert f"## [{syncd.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_kubectl_finds_the_commands_as_a_plugin() -> None:
    scripts = PROJECT["project"]["scripts"]
    assert scripts["kubectl-syncd"] == scripts["syncd"]


@pytest.mark.parametrize("requirement", PROJECT["project"]["dependencies"])
def test_a_dependency_has_a_lower_bound(requirement: str) -> None:
    assert ">=" in requirement


def test_what_the_package_imports_is_what_it_depends_on() -> None:
    assert imported_by("syncd") == {distribution(item) for item in PROJECT["project"]["dependencies"]}


def test_what_the_tests_import_is_what_the_dev_extra_brings() -> None:
    extra = PROJECT["project"]["optional-dependencies"]["dev"]
    offered = {distribution(item) for item in (*PROJECT["project"]["dependencies"], *extra)}
    assert imported_by("tests", "docs", "bench", "grafana", "scripts") <= offered


def imported_by(*folders: str) -> set[str]:
    """Return the distributions that the modules in these folders import from."""
    names: set[str] = set()
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(node.module or "")
    own = {"syncd", "tests", "bench", "grafana", "scripts", *(path.stem for path in SOURCES)}
    foreign = {item.partition(".")[0] for item in names} - sys.stdlib_module_names - own
    distributions = importlib.metadata.packages_distributions()
    return {distribution(distributions.get(item, [item])[0]) for item in foreign}


def distribution(requirement: str) -> str:
    """Return the name in a requirement, as all names are compared."""
    return re.split(r"[<>=\[]", requirement)[0].lower().replace("_", "-")


def test_every_room_of_the_package_is_under_the_import_rules() -> None:
    found = {path.name for path in (ROOT / "syncd").iterdir() if (path / "__init__.py").is_file()}
    found |= {path.stem for path in (ROOT / "syncd").glob("*.py")} - {"__init__", "__main__"}
    assert found == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_the_architecture_page_speaks_of_every_room(room: str) -> None:
    assert re.search(rf"\b{room}(/|\.py)", (ROOT / "docs" / "architecture.md").read_text())


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_every_exception_to_a_rule_says_which_rule_and_why(path: Path) -> None:
    exception = re.compile(r"#\s*(?:ruff:\s*)?noqa\b|#\s*type:\s*ignore\b")
    reasoned = re.compile(r"#\s*(?:(?:ruff:\s*)?noqa: [A-Z]+\d+(?:, ?[A-Z]+\d+)*|type: ignore\[[\w, -]+\])\s+[#-] \w+")
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if exception.search(line) and path != Path(__file__):
            assert reasoned.search(line), f"{name(path)}, line {number}: {line.strip()}"


@pytest.mark.parametrize("path", sorted((ROOT / "syncd").rglob("*.py")), ids=name)
def test_a_module_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 500


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target, section in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text()):
        if "://" not in target:
            path = page.parent / target if target else page
            assert path.exists(), f"{name(page)}: {target}"
            assert not section or section in sections(path), f"{name(page)}: {target}#{section}"


def sections(page: Path) -> set[str]:
    """Return the names by which links lead to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_the_generated_reference_pages_are_fresh() -> None:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec
    assert spec.loader
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for path, content in generate.pages().items():
        assert path.read_text() == content, f"run: make docs ({name(path)})"
