"""The filter of system calls that every program gets, on top of what its backend forbids.

It closes what network namespaces do not cover (AF_VSOCK and other exotic sockets, io_uring) and
the kernel's larger attack surfaces (user namespaces, bpf, keyrings, userfaultfd, perf). The
supervisor installs it; the host makes it, as an array of classic BPF instructions.
"""

from __future__ import annotations

import errno
import platform
import socket
import struct
from collections.abc import Sequence

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
DENIED = {
    "x86_64": (248, 249, 250, 272, 298, 308, 321, 323),
    "aarch64": (217, 218, 219, 97, 241, 268, 280, 282),
}
"""add_key, request_key, keyctl, unshare, perf_event_open, setns, bpf, userfaultfd."""
SOCKET = {"x86_64": 41, "aarch64": 198}
CLONE = {"x86_64": 56, "aarch64": 220}
ABSENT = (425, 435)
"""io_uring_setup and clone3: libraries take "not implemented" well and use the older calls."""
CLONE_NEWUSER = 0x10000000
X32_BIT = 0x40000000
LOCAL_ONLY = (int(socket.AF_UNIX),)
INSIDE_NAMESPACE = (*LOCAL_ONLY, int(socket.AF_INET), int(socket.AF_INET6), 16)

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
ALLOW, ERROR = 0x7FFF0000, 0x00050000


def call_filter(families: Sequence[int], machine: str = "") -> bytes:
    """The filter as an array of `struct sock_filter`; empty on a machine that is not known.

    Args:
        families: the address families that a socket may have.
        machine: as `platform.machine()` names it; this one by default.
    """
    machine = machine or platform.machine()
    if machine not in ARCHITECTURES:
        return b""
    permit, absent = ERROR | errno.EPERM, ERROR | errno.ENOSYS
    code = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, ARCHITECTURES[machine]),
        (RETURN, 0, 0, absent),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, X32_BIT),
        (RETURN, 0, 0, absent),
    ]
    for number in ABSENT:
        code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, absent)]
    for number in DENIED[machine]:
        code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, permit)]
    code += [
        (EQUAL, 0, 4, CLONE[machine]),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (ANY_BIT, 0, 1, CLONE_NEWUSER),
        (RETURN, 0, 0, permit),
        (RETURN, 0, 0, ALLOW),
        (EQUAL, 1, 0, SOCKET[machine]),
        (RETURN, 0, 0, ALLOW),
        (LOAD, 0, 0, FIRST_ARGUMENT),
    ]
    for family in families:
        code += [(EQUAL, 0, 1, family), (RETURN, 0, 0, ALLOW)]
    code.append((RETURN, 0, 0, ERROR | errno.EAFNOSUPPORT))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)
