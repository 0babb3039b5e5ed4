"""The parts that take in what comes from inside: output, files, and the filter that goes in."""

from __future__ import annotations

import os
import struct
import threading
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aide.errors import SandboxError, UnavailableError
from aide.sandboxes.control import Control, sweep, temporary_folder
from aide.sandboxes.environment import solution_environment
from aide.sandboxes.handle import Handle
from aide.sandboxes.mirror import mirror
from aide.sandboxes.output import Output
from aide.sandboxes.owner import Owner
from aide.sandboxes.seccomp import INSIDE_NAMESPACE, call_filter
from aide.sandboxes.transfer import HEADER, Transfer


@given(st.lists(st.binary(max_size=50)), st.integers(2, 40))
def test_output_keeps_head_and_tail_and_counts_the_rest(parts: list[bytes], bound: int) -> None:
    output, whole, half = Output(bound), b"".join(parts), bound // 2
    for part in parts:
        output.feed(part)
    assert output.total == len(whole)
    assert output.truncated == (len(whole) > 2 * half)
    if not output.truncated:
        assert output.text() == whole.decode("utf-8", "replace")
    else:
        left_out = f"\n[... {len(whole) - 2 * half} bytes left out ...]\n"
        head, tail = whole[:half], whole[-half:]
        assert output.text() == (
            head.decode("utf-8", "replace") + left_out + tail.decode("utf-8", "replace")
        )


def stream(*entries: tuple[int, bytes]) -> bytes:
    return b"".join(HEADER.pack(kind, len(body)) + body for kind, body in entries)


@given(chunk=st.integers(1, 40), body=st.binary(max_size=60))
def test_files_come_in_however_the_stream_is_cut(
    tmp_path_factory: pytest.TempPathFactory, chunk: int, body: bytes
) -> None:
    collect = tmp_path_factory.mktemp("collect") / "made"
    transfer = Transfer({"a/one": 60, "two": 5, "three": 60}, collect)
    data = stream((0, body), (1, b"missing"), (0, b""))
    for at in range(0, len(data), chunk):
        assert not transfer.complete
        transfer.feed(data[at : at + chunk])
    assert transfer.complete
    assert transfer.files == {"a/one": collect / "one", "three": collect / "three"}
    assert (collect / "one").read_bytes() == body
    assert transfer.refused == {"two": "missing"}
    assert sorted(path.name for path in collect.iterdir()) == ["one", "three"]


@pytest.mark.parametrize(
    "data",
    [
        stream((0, b"x" * 11)),
        stream((7, b"x")),
        stream((1, b"x" * 5000)),
        struct.pack("!BQ", 0, 2**63),
        stream((0, b"x"), (0, b"more")),
        stream((0, b"x")) + b"\0",
    ],
)
def test_a_stream_out_of_bounds_is_the_sandboxs_failure(tmp_path: Path, data: bytes) -> None:
    transfer = Transfer({"one": 10}, tmp_path)
    with pytest.raises(SandboxError):
        transfer.feed(data)
    transfer.discard()


def test_a_file_that_is_cut_short_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("of an earlier run")
    transfer = Transfer({"one": 10}, tmp_path)
    transfer.feed(stream((0, b"0123456789"))[:-1])
    transfer.discard()
    assert not transfer.complete
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
    assert (tmp_path / "one").read_text() == "of an earlier run"


@given(st.binary(max_size=200))
def test_no_stream_makes_transfer_fail_otherwise(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    collect = tmp_path_factory.mktemp("collect")
    transfer = Transfer({"one": 20, "two": 20}, collect)
    try:
        transfer.feed(data)
    except SandboxError:
        assert not transfer.complete
    transfer.discard()
    assert {path.name for path in collect.iterdir()} <= {"one", "two"}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_jumps_within_itself_and_ends_in_a_verdict(machine: str) -> None:
    program = call_filter(INSIDE_NAMESPACE, machine)
    code = [struct.unpack_from("HBBI", program, at) for at in range(0, len(program), 8)]
    for place, (kind, yes, no, _) in enumerate(code):
        if kind & 7 == 5:
            assert place + 1 + max(yes, no) < len(code)
    assert code[-1][0] == 6
    assert call_filter(INSIDE_NAMESPACE, "riscv64") == b""


class Silent(Handle):
    """A sandbox that fails to start."""

    def failure(self) -> str:
        return "the lights are out"

    def kill(self) -> None: ...

    def release(self) -> None: ...


def test_a_sandbox_that_does_not_come_up_is_told_with_its_reason() -> None:
    with (
        Control() as control,
        pytest.raises(SandboxError, match="did not start: the lights are out"),
    ):
        control.accept(Silent(), 5)
    assert not control.folder.exists()


def test_only_dead_owners_folders_are_swept() -> None:
    mine = temporary_folder()
    me = Owner.me()
    gone = mine.with_name(f"aide-999999999.1.{me.namespace}-x")
    elsewhere = mine.with_name("aide-999999999.1.1-x")
    deep = gone
    for _ in range(300):
        deep = deep / "deep"
    deep.mkdir(parents=True)
    elsewhere.mkdir()
    try:
        sweep()
        assert [p.exists() for p in (mine, gone, elsewhere)] == [True, False, True]
    finally:
        mine.rmdir()
        elsewhere.rmdir()


def test_an_owner_is_dead_only_if_that_is_certain() -> None:
    me = Owner.me()
    assert Owner.parse(str(me)) == me
    assert Owner.parse("nonsense") is None
    assert not me.is_dead(me)
    reused = Owner(me.pid, "1", me.boot, me.namespace)
    assert reused.is_dead(me)
    assert not Owner(me.pid, "1", "another", me.namespace).is_dead(me)
    assert not Owner(me.pid, "1", me.boot, "another").is_dead(me)


def test_a_package_that_does_not_exist_is_one_clear_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AIDE_CACHE", str(tmp_path))
    # With no index to ask, pip fails at once, as it does without a network.
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    wanted = ["aide-search-has-no-such-dependency"]
    with pytest.raises(UnavailableError, match=r"cannot be made: .*no-such-dependency"):
        solution_environment(wanted)
    assert not list(tmp_path.rglob("ready"))


def test_an_environment_is_made_once_whoever_asks_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AIDE_CACHE", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.chdir(tmp_path)
    made: list[Path] = []
    wheel = empty_wheel(tmp_path)

    def make() -> None:
        made.append(solution_environment([f"aide-empty @ file://{wheel}"]).python)

    threads = [threading.Thread(target=make) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 2
    assert made[0] == made[1]
    environment = solution_environment([f"aide-empty @ file://{wheel}"])
    assert environment.packages == {"aide-empty": "1.0"}
    assert os.access(environment.python, os.X_OK)
    assert environment.python.parent.parent in mirror(environment.python).folders


def empty_wheel(folder: Path) -> Path:
    """A real wheel with nothing but its metadata."""
    path = folder / "aide_empty-1.0-py3-none-any.whl"
    info = "aide_empty-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: aide-empty\nVersion: 1.0\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return path
