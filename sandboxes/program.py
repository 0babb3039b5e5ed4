"""The program's own process: what it finds loaded, what it gives up, how it is run.

Runs inside, beside the supervisor, where only Python's standard library (3.9 or newer) can be
counted on. The modules are loaded in the supervisor, before there is a program; the rest is done
in the child that the supervisor forks, so that a program gets them for the price of a fork.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import resource
import signal
import struct
import sys
import types
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PR_SET_DUMPABLE, PR_SET_SECCOMP = 4, 22
LIBC = ctypes.CDLL(None, use_errno=True)
THREADS = "This process .* is multi-threaded"


def load(modules: Sequence[str]) -> None:
    """Import modules for the program to come; one that cannot be is left for it to trip over."""
    for name in modules:
        # Whatever a broken package raises: it would have been the program's error, not ours.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    # Else the first collection in the program would copy all that has been loaded.
    gc.freeze()


def fork() -> int:
    """Fork; libraries that keep threads make them anew in the child, so no warning is due."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", THREADS, DeprecationWarning)
        return os.fork()


def drop_capabilities() -> None:
    """Without them, even user 0 has to keep to the modes of files."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    LIBC.capset(header, (ctypes.c_uint32 * 6)())


def filter_calls(program: bytes) -> None:
    """Install a filter of system calls, an array of `struct sock_filter`, for good."""
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    pointer = ctypes.create_string_buffer(head, len(head))
    LIBC.prctl(PR_SET_SECCOMP, ctypes.c_ulong(2), pointer, 0, 0)


def limit(orders: dict[str, Any]) -> None:
    for name, value in orders["rlimits"].items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (value, value))
    # Where memory runs out, the kernel is to pick the program, never its supervisor.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def become(orders: dict[str, Any], output: int, ignored: Sequence[str]) -> None:
    """In the forked child: its own session, output and limits, and nothing of the supervisor's.

    Args:
        orders: the host's.
        output: the descriptor to print to.
        ignored: the signals that the supervisor ignores.
    """
    signal.set_wakeup_fd(-1)
    for name in ("SIGCHLD", *ignored):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, 256)
    LIBC.prctl(PR_SET_DUMPABLE, ctypes.c_ulong(1), None, 0, 0)
    limit(orders)
    drop_capabilities()
    filter_calls(bytes.fromhex(orders["filter"]))


def show_error(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """A traceback of the program's own frames."""
    ours = Path(__file__).parent
    while trace is not None and Path(trace.tb_frame.f_code.co_filename).parent == ours:
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def execute(path: str) -> None:
    """Run a file as `python path` does: as `__main__`, importable by its worker processes."""
    # The modules in charge have to outlive the exchange, or their globals go while they run.
    _kept = sys.modules["__main__"], sys.modules.pop(__name__)
    main = types.ModuleType("__main__")
    main.__file__ = path
    sys.modules["__main__"] = main
    sys.argv, sys.path[0] = [path], str(Path(path).parent)
    sys.excepthook = show_error
    exec(compile(Path(path).read_bytes(), path, "exec", dont_inherit=True), main.__dict__)
