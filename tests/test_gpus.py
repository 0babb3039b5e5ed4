"""Leases of GPUs: found as the driver lists them, one holder each, freed at its death.

No GPU is needed: a program named nvidia-smi that prints two UUIDs is all that is asked.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aide.errors import SandboxError, UnavailableError
from aide.sandboxes.gpus import Gpus

ONE, TWO = "GPU-1f2e", "GPU-30ab"
HOLDER = """
import sys
from pathlib import Path
from aide.sandboxes.gpus import Gpus
with Gpus.find(Path(sys.argv[1])).lease(int(sys.argv[2]), lambda: False) as uuids:
    print(*uuids, flush=True)
    sys.stdin.read()
"""


def never() -> bool:
    return False


@pytest.fixture
def gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gpus:
    """Two of them, listed by a program of the driver's name."""
    driver(tmp_path, monkeypatch, f"echo {TWO}\necho {ONE}\n")
    return Gpus.find(tmp_path)


def driver(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_the_driver_is_asked_for_them(
    gpus: Gpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gpus.uuids == (ONE, TWO)
    for named, left in {"0": (TWO,), "GPU-1": (ONE,), "1,0": (ONE, TWO), "": (), "-1": ()}.items():
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
        assert Gpus.find(tmp_path).uuids == left
    driver(
        tmp_path, monkeypatch, '[ "$*" = "--query-gpu=uuid --format=csv,noheader" ] && echo GPU-9'
    )
    assert Gpus.find(tmp_path).uuids == ("GPU-9",)


@pytest.mark.parametrize(
    "script", ["echo No devices were found", f"echo {ONE}; exit 9", "kill -9 $$", None]
)
def test_a_driver_that_does_not_work_means_no_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None
) -> None:
    driver(tmp_path, monkeypatch, script or "")
    if script is None:
        (tmp_path / "nvidia-smi").write_bytes(b"\0not a program")
    found = Gpus.find(tmp_path)
    assert found.uuids == ()
    with found.lease(0, never) as uuids:
        assert uuids == ()
    with (
        pytest.raises(UnavailableError, match="this machine has 0 GPUs and gpus = 1 was asked"),
        found.lease(1, never),
    ):
        pass


def test_each_has_one_holder_and_is_free_again_after_it(gpus: Gpus) -> None:
    with gpus.lease(1, never) as first, gpus.lease(1, never) as second:
        assert {*first, *second} == {ONE, TWO}
        with pytest.raises(SandboxError, match="cancelled"), gpus.lease(1, lambda: True):
            pass
    with pytest.raises(ZeroDivisionError), gpus.lease(2, never) as both:
        1 / len(both[2:])
    with gpus.lease(2, lambda: True) as both:
        assert both == (ONE, TWO)


def test_threads_that_want_all_of_them_take_turns(gpus: Gpus) -> None:
    inside, clashes, rounds = [0], [], 5

    def work() -> None:
        for _ in range(rounds):
            with gpus.lease(2, never):
                inside[0] += 1
                clashes.append(inside[0])
                time.sleep(0.001)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert clashes == [1] * 3 * rounds


@pytest.fixture
def holder(gpus: Gpus, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has one of the two."""
    process = hold(tmp_path, 1)
    yield process
    process.kill()
    process.communicate()


def hold(folder: Path, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDER, str(folder), str(count)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_holder_of_another_process_is_waited_for_and_frees_it_by_its_death(
    gpus: Gpus, holder: subprocess.Popen[str]
) -> None:
    assert holder.stdout is not None
    assert holder.stdout.readline().split() == [ONE]
    with gpus.lease(1, never) as mine:
        assert mine == (TWO,)
    with pytest.raises(SandboxError, match="cancelled"), gpus.lease(2, lambda: True):
        pass
    # None is kept by one that waits for two.
    asked: list[bool] = []

    def note() -> bool:
        asked.append(holder.poll() is None)
        return False

    threading.Timer(0.3, holder.kill).start()
    with gpus.lease(2, note) as both:
        assert both == (ONE, TWO)
    assert asked[0]


def test_a_link_in_the_shared_folder_is_not_followed(gpus: Gpus, tmp_path: Path) -> None:
    (tmp_path / f"aide-gpu-{ONE}.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnavailableError, match="cannot be kept"), gpus.lease(1, never):
        pass
    assert not (tmp_path / "elsewhere").exists()
