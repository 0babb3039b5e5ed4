"""llama.cpp's own server, out of a prebuilt wheel, in an environment and a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from aide.cache import cache_folder
from aide.errors import UnavailableError
from tests.local_model.fetch import run_pip

PACKAGE = "xllamacpp==2026.10.11549"
PROGRAM = Path(__file__).with_name("server.py")
NAME = "qwen"
CONTEXT = 8192
LOAD_SECONDS = 180.0
END_SECONDS = 20.0


@contextmanager
def served(model: Path, log: Path, *, threads: int = 1) -> Iterator[str]:
    """A server of one model; yields its address, as "http://127.0.0.1:40123".

    Args:
        model: the model's file.
        log: where the server's own words go.
        threads: how many threads compute. Where others use the same cores, 1 is the fastest:
            more of them wait for each other.

    Raises:
        UnavailableError: it cannot be installed, or does not load the model.
    """
    python = server_python()
    command = [str(python), str(PROGRAM), str(model), NAME, str(CONTEXT), str(threads)]
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            yield address_of(process, log)
        finally:
            end(process)


def server_python() -> Path:
    """The interpreter of the server's environment, made on first use.

    Raises:
        UnavailableError: pip cannot get the server.
    """
    folder = cache_folder("llama-server", PACKAGE.partition("==")[2])
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.is_file():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run_pip([*pip, "--only-binary", ":all:", PACKAGE], "the server cannot be installed")
        ready.touch()
    return python


def address_of(process: subprocess.Popen[str], log: Path) -> str:
    """What the server prints once the model is loaded.

    Raises:
        UnavailableError: it ended before, or took too long.
    """
    assert process.stdout is not None
    # The line comes when the model is loaded; a server that hangs before is ended by the timer.
    timer = Timer(LOAD_SECONDS, process.kill)
    timer.start()
    try:
        line = process.stdout.readline().strip()
    finally:
        timer.cancel()
    if not line:
        process.wait()
        words = log.read_text("utf-8", "replace").strip().splitlines()
        raise UnavailableError(
            f"the server of the model ended or did not load it within {LOAD_SECONDS:g} seconds; "
            f"its last words: {words[-1] if words else 'none'}"
        )
    return line


def end(process: subprocess.Popen[str]) -> None:
    """End the server: by the end of its input, else, where a computation holds it, by force."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
