"""The hostile and broken programs of `tests/test_hostile.py`, one line each on what it tries."""

from __future__ import annotations

from dataclasses import dataclass

BEFORE = """
import ctypes, os, resource, shutil, signal, socket, subprocess, sys, threading, time
libc, out = ctypes.CDLL(None), 'working/submission.csv'
def good():
    shutil.copyfile('input/sample_submission.csv', out)
"""
"""Before each program; the test adds `labels`, `host` and `mark`: what there is to find."""


@dataclass(frozen=True, slots=True)
class Hostile:
    """A program that means harm or is broken.

    Attributes:
        tries: what it tries.
        code: the program.
        right: the statuses that are right, with a bar between.
        word: a pattern that its output or the reason has to hold.
    """

    tries: str
    code: str
    right: str
    word: str = ""


HOSTILE = (
    Hostile(
        "fork bomb",
        "while True: os.fork()",
        "error|timeout|out-of-memory",
    ),
    Hostile(
        "threads without end",
        "while True: threading.Thread(target=time.sleep, args=(99,), daemon=True).start()",
        "error",
        "can't start new thread",
    ),
    Hostile("memory in steps of 1 GB", "k = [b'x' * 2**30 for _ in range(9)]", "out-of-memory"),
    Hostile("all memory slowly", "k = [b'x' * 2**20 for _ in range(999)]", "out-of-memory"),
    Hostile(
        "memory in a child only",
        "if os.fork() == 0: k = [b'x' * 2**20 for _ in range(999)]\nprint('killed', os.wait()[1])",
        "invalid-output|out-of-memory",
        "killed 9",
    ),
    Hostile("fills /tmp", "open('/tmp/x', 'wb').write(bytes(10**8))", "error", "No space"),
    Hostile("fills its folder", "open('x', 'wb').write(bytes(6 * 10**7))", "error", "No space"),
    Hostile(
        "fills /dev/shm", "open('/dev/shm/x', 'wb').write(bytes(10**8))", "error", "space|large"
    ),
    Hostile(
        "files without end",
        "n = 0\nwhile True: open(f'working/{n}', 'w').close(); n += 1",
        "error|timeout|out-of-memory",
    ),
    Hostile("a sparse TB", "os.truncate(open(out, 'w').name, 2**40)", "error", "too large"),
    Hostile(
        "1 GB of output", "for _ in range(1000): print('x' * 10**6)", "invalid-output", "left out"
    ),
    Hostile("a line without end", "while True: print('x' * 999, end='')", "timeout", "xxx"),
    Hostile(
        "output that is no text", "os.write(1, bytes(range(256)))", "invalid-output", "\ufffd"
    ),
    Hostile(
        "terminal commands", r"print('\x1b[2J\x1b]0;mine\x07\r\0')", "invalid-output", "missing"
    ),
    Hostile("closes its output", "os.close(1); os.close(2); sys.exit(3)", "error"),
    Hostile("closes all descriptors", "os.closerange(0, 70_000); good()", "ok"),
    Hostile(
        "a link as its submission", "os.symlink('/etc/passwd', out)", "invalid-output", "link"
    ),
    Hostile(
        "a link as its folder",
        "good(); os.rename('working', 'w'); os.symlink('w', 'working')",
        "invalid-output",
        "link",
    ),
    Hostile("a FIFO", "os.mkfifo(out)", "invalid-output", "not a regular file"),
    Hostile("a folder", "os.mkdir(out)", "invalid-output", "not a regular file"),
    Hostile("a device", "os.mknod(out, 0o20666, os.makedev(1, 5))", "error", "not permitted"),
    Hostile(
        "a socket",
        "socket.socket(socket.AF_UNIX).bind(out)",
        "invalid-output",
        "not a regular file",
    ),
    Hostile(
        "its input as a hard link", "os.link('input/train.csv', out)", "error", "cross-device"
    ),
    Hostile("a large file", "os.truncate(open(out, 'w').name, 2**25)", "invalid-output", "larger"),
    Hostile("an empty file", "open(out, 'w')", "invalid-output"),
    Hostile(
        "bytes that are no text", r"open(out, 'wb').write(b'id,y\n\xff\xfe')", "invalid-output"
    ),
    Hostile("zero bytes", r"open(out, 'wb').write(b'id,y\n' + bytes(9))", "invalid-output"),
    Hostile("one vast cell", r"open(out, 'w').write('id,y\n1,' + 'x' * 10**6)", "invalid-output"),
    Hostile(
        "a million columns",
        r"open(out, 'w').write('y,' * 10**6 + '\n')",
        "invalid-output",
    ),
    Hostile(
        "values that are none",
        "rows = open('input/sample_submission.csv').read().splitlines()\n"
        "rows[1:] = [row.split(',')[0] + ',nan' for row in rows[1:]]\n"
        "open(out, 'w').write('\\n'.join(rows))",
        "invalid-output",
    ),
    Hostile(
        "names of every kind",
        r"for n in (b'\xff', b'a\nb', b'-rf', b'.submission.csv.part', b'x' * 255):"
        "\n    open(b'working/' + n, 'w')\ngood()",
        "ok",
    ),
    Hostile(
        "3000 nested folders",
        "for _ in range(3000): os.mkdir('d'); os.chdir('d')",
        "invalid-output",
        "missing",
    ),
    Hostile("closes its folder", "good(); os.chmod('working', 0)", "invalid-output", "Permission"),
    Hostile(
        "a daemon that goes on",
        "good()\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(0.1)\n"
        "    os.execlp('sleep', 'sleep', mark)",
        "ok",
    ),
    Hostile("kills itself", "os.kill(os.getpid(), 9)", "error", "signal 9"),
    Hostile("aborts", "os.abort()", "error", "signal 6"),
    Hostile("crashes", "ctypes.string_at(0)", "error", "signal 11"),
    Hostile("kills all it sees", "os.kill(1, 9); os.kill(-1, 9)", "error", "No such process"),
    Hostile(
        "traces its supervisor",
        "sys.exit(7 if libc.ptrace(16, 1, 0, 0) else 0)",
        "error",
        "exit 7",
    ),
    Hostile(
        "asks to be traced",
        "libc.ptrace(0, 0, 0, 0); os.kill(os.getpid(), 10); time.sleep(99)",
        "error|timeout",
    ),
    Hostile("writes beside its folder", "open('/usr/x', 'w')", "error", "Read-only"),
    Hostile("stops itself", "os.kill(os.getpid(), 19)", "timeout"),
    Hostile("stops its group", "os.killpg(0, 19)", "timeout"),
    Hostile(
        "ignores every signal",
        "for n in set(range(1, 65)) - {9, 19, 32, 33}: signal.signal(n, signal.SIG_IGN)\n"
        "time.sleep(99)",
        "timeout",
    ),
    Hostile("ends early", "os._exit(0)", "invalid-output", "missing"),
    Hostile("an exit status of 256", "sys.exit(256)", "invalid-output", "missing"),
    Hostile("a text as its exit status", "sys.exit('gone')", "error", "gone"),
    Hostile("recursion", "def f(): f()\nf()", "error", "RecursionError"),
    Hostile(
        "recursion without a limit",
        "sys.setrecursionlimit(10**9)\ndef f(x): return [*map(f, [x])]\nf(1)",
        "error|out-of-memory|timeout",
    ),
    Hostile("raises at its exit", "import atexit; atexit.register(lambda: 1 / 0); good()", "ok"),
    Hostile(
        "never ends its own end",
        "class A:\n    def __del__(self):\n        while True: pass\na = A(); good()",
        "timeout",
    ),
    Hostile(
        "a thread without end",
        "threading.Thread(target=time.sleep, args=(99,)).start()",
        "timeout",
    ),
    Hostile("removes its own program", "os.remove('solution.py'); good()", "ok"),
    Hostile(
        "writes to its input", "open('input/train.csv', 'a').write('1,1,yes')", "error", "input/"
    ),
    Hostile("reads /etc/shadow", "open('/etc/shadow').read()", "error", "No such file|Permission"),
    Hostile("reads the host's labels", "open(labels).read()", "error", "No such file"),
    Hostile(
        "asks the engine",
        "socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock')",
        "error",
        "No such file",
    ),
    Hostile("the network", "socket.create_connection(('1.1.1.1', 53), 1)", "error", "unreachable"),
    Hostile(
        "a socket of the host",
        "socket.socket(socket.AF_UNIX).connect(host)",
        "error",
        "refused",
    ),
    Hostile(
        "its supervisor's socket",
        "socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect('/run/aide/socket')",
        "error",
        "refused|denied|No such file",
    ),
    Hostile(
        "forges a report",
        """report = b'{"why": "exit", "code": 0, "cpu": 0, "oom": 0, "disk_full": 0}'
for n in range(3, 300):
    try: os.write(n, report); print('written')
    except OSError: continue
sys.exit(9)""",
        "error",
        "exit 9",
    ),
    Hostile(
        "becomes root",
        "sys.exit(subprocess.run(['su', '-c', 'id'], stdin=subprocess.DEVNULL).returncode + 20)",
        "error",
        "exit 21",
    ),
    Hostile(
        "mounts",
        "failed = libc.mount(b'x', b'/tmp', b'tmpfs', 0, 0) and libc.unshare(0x10020000)\n"
        "sys.exit(8 if failed else 0)",
        "error",
        "exit 8",
    ),
    Hostile("sets the clock", "time.clock_settime(0, 0)", "error", "not permitted"),
    Hostile(
        "raises its limits", "resource.setrlimit(resource.RLIMIT_FSIZE, (2**40,) * 2)", "error"
    ),
    Hostile(
        "leaves its control group",
        "open('/sys/fs/cgroup/memory/cgroup.procs', 'w').write('0')",
        "error",
        "Read-only|No such file|Permission",
    ),
    Hostile(
        "outlives others",
        "with open('/proc/self/oom_score_adj', 'w') as f: f.write('-1000')",
        "error",
        "denied",
    ),
)
