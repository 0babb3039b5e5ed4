"""The same sandbox over Podman's service, which talks as a Docker engine does."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aide.errors import UnavailableError
from aide.interfaces import Sandbox
from tests.sandbox_fixtures import Bench, python, start

__all__ = ["python"]


@pytest.fixture
def podman(python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    program = shutil.which("podman")
    if program is None or not os.environ.get("AIDE_TEST_PODMAN"):
        # How it is set up differs from machine to machine, and few have it.
        pytest.skip("AIDE_TEST_PODMAN is not set, or podman is not installed")
    # A socket's path may have a hundred characters, and tmp_path is long.
    folder = Path(tempfile.mkdtemp(prefix="podman-"))
    state = ["--root", str(folder / "root"), "--runroot", str(folder / "run")]
    address = f"unix://{folder}/socket"
    monkeypatch.setenv("DOCKER_HOST", address)
    command = [program, *state, "system", "service", "--time=0", address]
    service = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        if not listens(folder / "socket", service):
            pytest.skip(f"podman's service does not start: {service.communicate()[1][-200:]}")
        try:
            made = start("docker", python)
        except UnavailableError as error:
            pytest.skip(str(error))  # a rootless one without cgroup version 2
        yield made
        made.close()
    finally:
        service.kill()
        service.communicate()
        reset = [program, *state, "system", "reset", "--force"]
        subprocess.run(reset, capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def listens(path: Path, service: subprocess.Popen[str]) -> bool:
    end = time.monotonic() + 20
    while service.poll() is None and time.monotonic() < end:
        with socket.socket(socket.AF_UNIX) as link:
            if link.connect_ex(str(path)) == 0:
                return True
        time.sleep(0.05)
    return False


@pytest.mark.slow
def test_podmans_service_is_an_engine_too(podman: Sandbox, tmp_path: Path) -> None:
    bench = Bench(podman, tmp_path)
    assert podman.about.startswith("podman ")
    code = (
        "import os\n"
        "closed = []\n"
        "for place in ('/', '/run', '/var/tmp', '/usr/local', 'input'):\n"
        "    try: open(f'{place}/mine', 'w')\n"
        "    except OSError: closed.append(place)\n"
        "open('/tmp/x', 'w'); open('working/out', 'w').write('made')\n"
        "print(os.getuid() != 0, closed, len([n for n in os.listdir('/proc') if n.isdigit()]))\n"
    )
    done = bench.run(code, "working/out")
    assert done.output == "True ['/', '/run', '/var/tmp', '/usr/local', 'input'] 2\n"
    assert done.files["working/out"].read_text() == "made"
    assert bench.run("k = [b'x' * 2**20 for _ in range(999)]", memory_mb=128).status == (
        "out-of-memory"
    )
    done = bench.run("print(1)\nimport time; time.sleep(60)", seconds=0.5)
    assert (done.status, done.output) == ("timeout", "1\n")
