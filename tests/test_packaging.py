"""What is built and installed is what the tree holds."""

from __future__ import annotations

import fnmatch
import itertools
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]


def folder_of(package: str) -> Path:
    mapped: dict[str, str] = SETUPTOOLS["package-dir"]
    for prefix, folder in mapped.items():
        if package == prefix or package.startswith(prefix + "."):
            return ROOT / folder / package.removeprefix(prefix).strip(".").replace(".", "/")
    return ROOT / package.replace(".", "/")


def test_every_package_is_listed() -> None:
    listed = {folder_of(package) for package in SETUPTOOLS["packages"]}
    real = {
        path.parent
        for folder in ("aide", "operators", "sandboxes", "tasks")
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert {path.resolve() for path in listed} == {path.resolve() for path in real}


def test_every_data_file_is_shipped() -> None:
    globs = SETUPTOOLS["package-data"]
    unshipped = []
    for package in SETUPTOOLS["packages"]:
        folder = folder_of(package)
        for path in folder.rglob("*"):
            inner = path.relative_to(folder)
            if (
                any(part.startswith(".") for part in inner.parts)
                or not path.is_file()
                or path.suffix in (".py", ".pyc")
                or _in_inner_package(path, folder)
            ):
                continue
            if not any(fnmatch.fnmatch(inner.as_posix(), glob) for glob in globs.get(package, [])):
                unshipped.append(f"{package}: {inner}")
    assert not unshipped


def _in_inner_package(path: Path, folder: Path) -> bool:
    return any(
        (parent / "__init__.py").exists() for parent in path.parents if folder in parent.parents
    )


@pytest.mark.parametrize("name", ["operators", "sandboxes", "tasks"])
def test_each_link_leads_to_its_folder(name: str) -> None:
    assert (ROOT / "aide" / name).is_symlink()
    assert (ROOT / "aide" / name).resolve() == ROOT / name


def test_the_constraints_pin_what_the_project_needs() -> None:
    pinned = {
        line.split("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    extras = PROJECT["project"]["optional-dependencies"].values()
    wanted = [*PROJECT["project"]["dependencies"], *itertools.chain(*extras)]
    # One extra takes in others by the project's own name.
    names = {name.split(">=")[0].lower() for name in wanted if "aide-search[" not in name}
    assert names <= pinned


@pytest.mark.slow
def test_the_wheel_holds_everything_and_nothing_at_the_top(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"aide", "aide_search-0.1.0.dist-info"}
    for needed in (
        "aide/py.typed",
        "aide/operators/prompts/draft.j2",
        "aide/sandboxes/program.py",
        "aide/sandboxes/supervisor.py",
    ):
        assert needed in names
    assert not [name for name in names if name.endswith(".pyc")]
