"""The arrows between modules, the size of files and functions, and what an import costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    path
    for folder in ("aide", "operators", "sandboxes", "tasks")
    for path in (ROOT / folder).rglob("*.py")
)
FILE_LINES = 300
FUNCTION_LINES = 40


def test_the_arrows_hold() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_there_are_sources() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in SOURCES}
    assert {"aide/cli.py", "operators/draft.py", "sandboxes/docker.py"} <= names


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_and_functions_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= FILE_LINES
    long = [
        f"{node.name}: {length} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := _code_lines(node)) > FUNCTION_LINES
    ]
    assert not long


def _code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """A function's length without its docstring: that a contract is told at length is no fault."""
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        length -= (first.end_lineno or first.lineno) - first.lineno + 1
    return length


def test_no_catch_all_module() -> None:
    assert not [path for path in SOURCES if path.stem in ("utils", "util", "helpers", "misc")]


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import aide", ("pandas", "numpy", "pydantic", "networkx", "click", "docker", "git")),
        ("import aide.cli", ("pandas", "numpy", "pydantic", "networkx", "docker", "git", "rich")),
        ("import aide.policies.greedy", ("pandas", "docker", "git", "jinja2")),
    ],
)
def test_an_import_loads_only_what_it_needs(statement: str, unwanted: tuple[str, ...]) -> None:
    program = f"{statement}\nimport sys\nprint(*(m for m in {unwanted!r} if m in sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == []
